"""Mathematics problems as environments, and the grader that decides whether an answer is right."""
