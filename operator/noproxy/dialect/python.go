package dialect

// Clients written in Python.
var pythonFamily = []*Client{pythonUrllib, pythonRequests, pythonHttpx, pythonAiohttp}
