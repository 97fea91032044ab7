import Foundation
import Synchronization
import TestSupport

/// A gpsd on a free loopback port that reports a receiver moving north to every client, ten fixes a second.
final class FakeGPSD: Sendable {
    /// The port on 127.0.0.1.
    let port: Int
    private let listener: Int32
    private let isStopped = Mutex(false)

    init() throws {
        let port = try LoopbackPort.free()
        self.port = port
        self.listener = try LoopbackPort.listen(port)
        Thread.detachNewThread { self.serve() }
    }

    /// Closes every connection and the listener.
    func stop() {
        self.isStopped.withLock { $0 = true }
        shutdown(self.listener, Int32(SHUT_RDWR))
    }

    private func serve() {
        while case let client = accept(self.listener, nil, nil), client >= 0 {
            Thread.detachNewThread { self.report(to: client) }
        }
        close(self.listener)
    }

    private func report(to client: Int32) {
        defer { close(client) }
        var text = """
            {"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
            {"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyUSB0","activated":"2024-05-17T12:00:01Z"}]}

            """
        var latitude = 52.6
        while !self.isStopped.withLock({ $0 }) {
            let sent = Array(text.utf8).withUnsafeBytes {
                send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            usleep(100_000)  // the receiver's cycle: ten fixes a second
            latitude += 0.0001
            let time = Date.now.ISO8601Format(.init(includingFractionalSeconds: true))
            text = """
                {"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"\(time)","lat":\(latitude),"lon":-8.6}

                """
        }
    }
}
