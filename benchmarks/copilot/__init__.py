"""What Copilot extensions cost under the supervisor, beside a minimal host in Node and the bytes alone."""
