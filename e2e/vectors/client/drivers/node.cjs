// Asks for one URL after the other with the library that is named on the command
// line (see driver.go for the protocol), or, if a URL follows, for that one:
// NODE_USE_ENV_PROXY is read once in a process. Modules are loaded where they are
// used, because node:http reads the variables when it is loaded, and may throw.

const TIMEOUT = 8000;

function get(url, options) {
  return new Promise((resolve, reject) => {
    const request = require(url.startsWith("https:") ? "node:https" : "node:http").get(url, { timeout: TIMEOUT, ...options }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
    });
    request.on("error", reject).on("timeout", () => request.destroy(new Error("timeout")));
  });
}

const version = (name) => require(`${process.env.NODE_PATH}/${name}/package.json`).version;

const clients = {
  "http.get": () => [process.version, (url) => get(url)],
  fetch: () => [process.version, async (url) => (await fetch(url, { signal: AbortSignal.timeout(TIMEOUT) })).text()],
  undici() {
    const undici = require("undici");
    return [version("undici"), async (url) => {
      const dispatcher = new undici.EnvHttpProxyAgent();
      try {
        const response = await undici.request(url, { dispatcher, headersTimeout: TIMEOUT });
        await response.body.text();
      } finally {
        await dispatcher.destroy();
      }
    }];
  },
  axios() {
    const axios = require("axios");
    return [axios.VERSION, (url) => axios.get(url, { timeout: TIMEOUT })];
  },
  "proxy-from-env"() {
    const { getProxyForUrl } = require("proxy-from-env");
    const { ProxyAgent } = require("proxy-agent");
    return [version("proxy-from-env"), (url) => get(url, { agent: new ProxyAgent({ getProxyForUrl }) })];
  },
};

async function problemOf(ask, url) {
  try {
    await ask(url);
    return {};
  } catch (problem) {
    return { problem: `${problem}${problem.cause ? ` (${problem.cause})` : ""}` };
  }
}

async function main() {
  const [release, ask] = clients[process.argv[2]]();
  if (process.argv[3]) {
    const { problem } = await problemOf(ask, process.argv[3]);
    if (problem) console.error(problem);
    process.exit(problem ? 1 : 0);
  }
  console.log(JSON.stringify({ version: release }));
  const base = { ...process.env };
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    const { env, url } = JSON.parse(line);
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, base, env);
    console.log(JSON.stringify(await problemOf(ask, url)));
  }
}

main();
