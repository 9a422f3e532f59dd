"""Boards: what is published."""


rule teaching_board:
    input:
        code=code("boards.teaching_board"),
        gates=expand("data/teaching/{league}/gate.json", league=LEAGUES),
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
        standings=expand("data/teaching/{league}/standings.parquet", league=LEAGUES),
    output:
        parquet="results/teaching.parquet",
        csv="results/teaching.csv",
        csv_lineage="results/teaching.csv.lineage.json",
        md="results/teaching.md",
        md_lineage="results/teaching.md.lineage.json",
        numbers="results/metrics.json",
        numbers_lineage="results/metrics.json.lineage.json",
        ca="results/teaching_ca.csv",
        ca_lineage="results/teaching_ca.csv.lineage.json",
        rounds="results/teaching_rounds.csv",
        rounds_lineage="results/teaching_rounds.csv.lineage.json",
    log:
        "logs/teaching_board.log",
    params:
        section=section(),
    message:
        "Writing the teaching board"
    shell:
        step(
            "boards.teaching_board",
            ["gates", "metrics", "standings"],
            ["parquet", "csv", "md", "numbers", "ca", "rounds"],
        )


rule boards:
    input:
        "results/teaching.parquet",
        "results/teaching.csv",
        "results/teaching.md",
        "results/metrics.json",
        "results/teaching_ca.csv",
        "results/teaching_rounds.csv",
        "results/gate.json",
    message:
        "The boards are in results/"
