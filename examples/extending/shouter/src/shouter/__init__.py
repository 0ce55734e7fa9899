"""An agent that writes its prompt in capitals."""
