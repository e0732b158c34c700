"""The tree as one program: functions, classes, fields and arguments on demand."""
