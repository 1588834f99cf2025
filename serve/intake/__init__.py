"""What is pushed to the service: taken in, landed, made durable, and only then acknowledged."""
