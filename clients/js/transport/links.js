// The links over which MQTT runs: WebSocket in browsers and in Node.js, and TCP in Node.js.
//
// A link calls `opened()`, `received(bytes)` and `closed(text)`, and has `send(bytes)` and `close()`.

import { TrackingError } from "../core/errors.js";

const DEFAULT_PORTS = { "mqtt:": 1883, "mqtts:": 8883 };

/** Returns the parsed address of a broker. Throws a TrackingError for an address that cannot be used. */
export function checkedBroker(broker, WebSocketClass = globalThis.WebSocket) {
  const url = URL.canParse(broker) ? new URL(broker) : undefined;
  if (!["ws:", "wss:", "mqtt:", "mqtts:"].includes(url?.protocol)) {
    throw new TrackingError(
      "invalidConfiguration", `cannot use the broker address '${broker}': it must begin with ws://, wss://, mqtt:// or mqtts://`);
  }
  if (isTCP(url) && globalThis.process?.versions?.node === undefined) {
    throw new TrackingError(
      "invalidConfiguration", `cannot use the broker address '${broker}': browsers have no TCP. Use a ws:// or wss:// listener`);
  }
  if (!isTCP(url) && !WebSocketClass) {
    throw new TrackingError(
      "invalidConfiguration",
      `cannot use the broker address '${broker}': this Node.js has no WebSocket. Start it with --experimental-websocket, pass the `
        + "option WebSocket, or use an mqtt:// address");
  }
  return url;
}

const isTCP = ({ protocol }) => protocol in DEFAULT_PORTS;

/** Opens a link to the broker. */
export function openLink(url, handlers, { WebSocket: WebSocketClass = globalThis.WebSocket, tls }) {
  return isTCP(url) ? openTCP(url, handlers, tls) : openWebSocket(url, handlers, WebSocketClass);
}

function openWebSocket(url, { opened, received, closed }, WebSocketClass) {
  const socket = new WebSocketClass(url.href, ["mqtt"]);
  socket.binaryType = "arraybuffer";
  socket.onopen = opened;
  socket.onmessage = ({ data }) => received(new Uint8Array(data));
  socket.onerror = () => {};
  socket.onclose = ({ reason }) => closed(reason || `${url.host} closed the WebSocket, or does not accept one`);
  return { send: (bytes) => socket.send(bytes), close: () => socket.close() };
}

/** Opens a TCP connection; bytes are sent from `opened` on. The modules of Node.js are loaded only here. */
function openTCP(url, { opened, received, closed }, options = {}) {
  let [socket, isClosed] = [undefined, false];
  const isTLS = url.protocol === "mqtts:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = { host, port: Number(url.port) || DEFAULT_PORTS[url.protocol], servername: host, ...options };
  const finish = (text) => {
    if (isClosed) return;
    isClosed = true;
    closed(text);
  };
  import(isTLS ? "node:tls" : "node:net").then(({ connect }) => {
    if (isClosed) return;
    socket = connect(target);
    socket.setNoDelay(true);
    socket.on(isTLS ? "secureConnect" : "connect", opened);
    socket.on("data", received);
    socket.on("error", ({ message }) => finish(message));
    socket.on("close", () => finish(`${url.host} closed the connection`));
  });
  return {
    send: (bytes) => socket.write(bytes),
    close: () => {
      if (socket) socket.end();
      else finish("closed");
    },
  };
}
