"""What an evaluation is asked: tasks as they are declared, and the options that they share."""
