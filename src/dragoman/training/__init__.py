"""Training: objectives, one step, schedules, optimisers, the loop, checkpoints and reports."""
