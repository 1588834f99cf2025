"""What goes on in a cluster beside one attempt: who fails together, and how its nodes are. Pure."""
