# Asks for one URL after the other with the library that is named on the command
# line; see driver.go for the protocol.
import asyncio
import json
import os
import ssl
import sys
import warnings

warnings.simplefilter("ignore")
TIMEOUT = 8


def urllib_client():
    import platform
    import urllib.request

    context = ssl._create_unverified_context()

    def ask(url):
        # urlopen would keep the first opener, with the proxies of that time
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
        opener.open(url, timeout=TIMEOUT).read()

    return platform.python_version(), ask


def requests_client():
    import requests

    def ask(url):
        with requests.Session() as session:
            session.get(url, verify=False, timeout=TIMEOUT)

    return requests.__version__, ask


def httpx_client():
    import httpx

    def ask(url):
        with httpx.Client(verify=False, timeout=TIMEOUT) as client:
            client.get(url)

    return httpx.__version__, ask


def aiohttp_client():
    import aiohttp

    async def get(url):
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        async with aiohttp.ClientSession(trust_env=True, timeout=timeout) as session:
            async with session.get(url, ssl=False) as response:
                await response.read()

    return aiohttp.__version__, lambda url: asyncio.run(get(url))


def kubernetes_client():
    import kubernetes
    from kubernetes.client import Configuration
    from kubernetes.client.rest import RESTClientObject

    def ask(url):
        configuration = Configuration()
        configuration.host = url
        configuration.verify_ssl = False
        RESTClientObject(configuration).GET(url, _request_timeout=TIMEOUT)

    return kubernetes.__version__, ask


def main():
    clients = {
        "urllib": urllib_client,
        "requests": requests_client,
        "httpx": httpx_client,
        "aiohttp": aiohttp_client,
        "kubernetes": kubernetes_client,
    }
    version, ask = clients[sys.argv[1]]()
    base = dict(os.environ)
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        os.environ.clear()
        os.environ.update(base)
        os.environ.update(question["env"])
        try:
            ask(question["url"])
            answer = {}
        except Exception as problem:
            answer = {"problem": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), flush=True)


main()
