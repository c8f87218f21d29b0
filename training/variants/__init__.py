"""Published variants of GRPO as stages, a file each; ``docs/PAPERS.md`` has a section for each."""
