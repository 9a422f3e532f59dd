"""Print the boards at the end of a run."""

from magister.cli import main

if __name__ == "__main__":
    main(["board", "all"])
