import Foundation
import TestSupport

/// A relay to a server on this machine. A test can cut all of its connections at once without notice, or delay its
/// data. It passes on the end of each direction by itself, as the sides of a connection may end at different times.
final class Relay: Sendable {
    /// The relay's port.
    let port: Int
    private let program: RunningProgram

    /// Starts a relay, and returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - delay: The delay of data in each direction, in seconds.
    ///   - log: The file to which the first bytes of each connection are appended, with a line end; none by default.
    init(to server: Int, delay: Double = 0, log: String = "/dev/null") async throws {
        self.port = try LoopbackPort.free()
        let script = """
            import queue, signal, socket, threading, time
            ends = []
            def cut(*_):
                while ends:
                    try: ends.pop().shutdown(2)
                    except OSError: pass
            def end(directions):
                for side, direction in directions:
                    try: side.shutdown(direction)
                    except OSError: pass
            def deliver(line, b):
                try:
                    while True:
                        due, data = line.get()
                        time.sleep(max(0, due - time.monotonic()))
                        if isinstance(data, tuple): return end(data)
                        b.sendall(data)
                except OSError: pass
            def pump(a, b, isFirst=False):
                line = queue.Queue()
                threading.Thread(target=deliver, args=(line, b), daemon=True).start()
                try:
                    while data := a.recv(65536):
                        if isFirst:
                            with open('\(log)', 'ab') as file: file.write(data + b'\\n')
                            isFirst = False
                        if \(delay): line.put((time.monotonic() + \(delay), data))
                        else: b.sendall(data)
                    how = ((b, socket.SHUT_WR),)
                except OSError: how = ((a, 2), (b, 2))
                if \(delay): line.put((time.monotonic() + \(delay), how))
                else: end(how)
            def serve():
                while True:
                    a, b = listener.accept()[0], socket.create_connection(('127.0.0.1', \(server)))
                    ends.extend((a, b))
                    for pair in ((a, b, True), (b, a)): threading.Thread(target=pump, args=pair, daemon=True).start()
            signal.signal(signal.SIGUSR1, cut)
            listener = socket.create_server(('127.0.0.1', \(self.port)))
            threading.Thread(target=serve, daemon=True).start()
            while True: signal.pause()
            """
        self.program = try RunningProgram("/usr/bin/python3", ["-c", script])
        let deadline = ContinuousClock.now + .seconds(60)
        while !LoopbackPort.accepts(self.port) {
            guard ContinuousClock.now < deadline else { throw TestSupportError("the relay does not listen") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    deinit { self.program.signal(SIGKILL) }

    /// Cuts all current connections. New connections are accepted.
    func cut() { self.program.signal(SIGUSR1) }
}
