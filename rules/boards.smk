"""Boards: what is published."""


rule teaching_board:
    input:
        code=code("boards.teaching_board"),
        gates=expand("data/teaching/{league}/gate.json", league=LEAGUES),
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
    output:
        parquet="results/teaching.parquet",
        csv="results/teaching.csv",
        csv_lineage="results/teaching.csv.lineage.json",
        md="results/teaching.md",
        md_lineage="results/teaching.md.lineage.json",
    log:
        "logs/teaching_board.log",
    params:
        section=section(),
    message:
        "Writing the teaching board"
    shell:
        step("boards.teaching_board", ["metrics"], ["parquet", "csv", "md"])


rule boards:
    input:
        "results/teaching.parquet",
        "results/gate.json",
    message:
        "The boards are in results/"
