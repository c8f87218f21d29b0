"""The leaderboard as a folder of static pages that opens from disk and needs no server."""
