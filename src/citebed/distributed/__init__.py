"""The same work on an engine that a user has: Spark, or anything that speaks Spark Connect."""
