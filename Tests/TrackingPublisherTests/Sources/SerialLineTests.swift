import Foundation
import Glibc
import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

/// A pair of connected terminals. One end represents the receiver.
private final class Cable: Sendable {
    let path: String
    private let master: Int32
    private let slave: Int32

    init() throws {
        var ends: (Int32, Int32) = (-1, -1)
        // `ttyname` is for one thread at a time: another test's line would be opened.
        var name = [CChar](repeating: 0, count: 64)
        guard openpty(&ends.0, &ends.1, &name, nil, nil) == 0 else { throw TrackingError(.inputUnreadable, "no pty") }
        (self.master, self.slave) = ends
        self.path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }  // not empty
        // Bytes without a reader are lost, and block no thread.
        _ = fcntl(self.master, F_SETFL, O_NONBLOCK)
        var settings = termios()
        tcgetattr(ends.1, &settings)
        cfmakeraw(&settings)
        tcsetattr(ends.1, TCSANOW, &settings)
        // Held open, it would keep the line alive without a reader.
        close(ends.1)
    }

    func send(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(self.master, $0.baseAddress, $0.count) } }

    /// The bytes that the source has written so far.
    func received() -> [UInt8] {
        var polled = pollfd(fd: self.master, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 0) > 0, polled.revents & Int16(POLLIN) != 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(self.master, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Waits until the source has written `expected`. Returns the bytes read meanwhile.
    @discardableResult func wait(for expected: [UInt8]) async throws -> [UInt8] {
        var all: [UInt8] = []
        let deadline = DeviceClock.now.advanced(by: .seconds(60))
        while !all.contains(expected), DeviceClock.now < deadline {
            all += self.received()
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(all.contains(expected), "got \(String(decoding: all, as: UTF8.self))")
        return all
    }

    /// Waits shortly for further bytes. Returns the bytes that the source has written meanwhile.
    func next() async -> [UInt8] {
        try? await Task.sleep(for: .milliseconds(5))
        return self.received()
    }

    func pull() { close(self.master) }
}

@Suite(.timeLimit(.minutes(5))) struct SerialLineTests {
    @Test func aReceiverOnASerialLineIsRead() async throws {
        let cable = try Cable()
        try await whileRunning(NMEASource(.serial(path: cable.path, speed: 115_200))) { log in
            try await self.sendUntilReceived(cable, log, Sentences.epoch(0))
            for index in 1...5 { cable.send(Sentences.text(Sentences.epoch(index))) }
            try await log.wait(for: "fixes") { _ in log.fixes.last.map { Int($0.time.seconds) % 60 == 5 } ?? false }
            #expect(log.badInputs.isEmpty)
        }
        cable.pull()
    }

    @Test func itIsAskedForTheCycleInItsLanguage() async throws {
        let cable = try Cable()
        let source = NMEASource(.serial(path: cable.path))
        await source.use(.every(milliseconds: 5000))
        try await whileRunning(source) { _ in
            try await cable.wait(for: Array("$PMTK605*31\r\n$PUBX,00*33\r\n".utf8))
            cable.send(Sentences.text([Sentences.make("PMTK705,AXN_2.31")]))
            try await cable.wait(for: Array("$PMTK220,5000*1B\r\n".utf8))
            await source.use(.every(milliseconds: 1000))
            try await cable.wait(for: Array("$PMTK220,1000*1F\r\n".utf8))
        }
        cable.pull()
    }

    @Test func aMediaTekReceiverSleepsBetweenTwoFixesAndWakesForARequest() async throws {
        let cable = try Cable()
        let source = NMEASource(.serial(path: cable.path))
        await source.use(.every(milliseconds: 120_000, .low))
        try await whileRunning(source) { log in
            try await cable.wait(for: [0xFF] + Array("$PMTK605*31\r\n".utf8))
            cable.send(Sentences.text([Sentences.make("PMTK705,AXN_2.31")]))
            try await cable.wait(for: Array("$PMTK220,1000*1F\r\n$PMTK313,0*2F\r\n".utf8))
            cable.send(Sentences.text(Sentences.epoch(0)))
            try await cable.wait(for: Array("$PMTK161,0*28\r\n".utf8))
            #expect(source.asleepUntil != nil)
            await source.use(.every(milliseconds: 5000))
            try await cable.wait(for: Array("$PMTK225,0*2B\r\n".utf8))
            #expect(source.asleepUntil == nil)
            cable.send(Sentences.text(Sentences.epoch(1)))
            try await cable.wait(for: Array("$PMTK220,5000*1B\r\n$PMTK313,1*2E\r\n".utf8))
            try await log.waitForFixes(2)
        }
        try await cable.wait(for: Array("$PMTK161,0*28\r\n".utf8))
        cable.pull()
    }

    @Test func aUbloxReceiverIsPutIntoItsBackupModeForTheTimeToTheNextFix() async throws {
        let cable = try Cable()
        let source = NMEASource(.serial(path: cable.path))
        await source.use(.every(milliseconds: 120_000, .low))
        try await whileRunning(source) { log in
            try await cable.wait(for: Array("$PUBX,00*33\r\n".utf8))
            cable.send(Sentences.text([Sentences.make("GNTXT,01,01,02,u-blox AG - www.u-blox.com")]))
            cable.send(Sentences.text(Sentences.epoch(0)))
            let header: [UInt8] = [0xB5, 0x62, 0x02, 0x41, 16, 0, 0, 0, 0, 0]
            let sent = try await cable.wait(for: header)
            let start = try #require(sent.indices.first { sent[$0...].starts(with: header) })
            var message = Array(sent[start...])
            for _ in 0..<1000 where message.count < 24 { message += await cable.next() }
            let duration = message[10..<14].reversed().reduce(0) { $0 << 8 | Int($1) }
            #expect((1...110_000).contains(duration), "awake 10 s before the next fix is due")
            #expect(message[14..<22] == [2, 0, 0, 0, 8, 0, 0, 0])
            var (first, second): (UInt8, UInt8) = (0, 0)
            for byte in message[2..<22] {
                first &+= byte
                second &+= first
            }
            #expect(message[22..<24] == [first, second])
            await source.use(.every(milliseconds: 1000))
            try await cable.wait(for: [0xFF])
            #expect(log.fixes.count == 1)
        }
        // Until it is woken, because the source is closed.
        try await cable.wait(for: [0xB5, 0x62, 0x02, 0x41, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0])
        cable.pull()
    }

    @Test func itIsNotWrittenToWhereThatIsNotWanted() async throws {
        let cable = try Cable()
        let source = NMEASource(.serial(path: cable.path), asksForCycle: false)
        await source.use(.every(milliseconds: 5000))
        try await whileRunning(source) { log in
            try await self.sendUntilReceived(cable, log, [Sentences.make("PMTK705,AXN_2.31")] + Sentences.epoch(0))
            #expect(cable.received().isEmpty)
        }
        cable.pull()
    }

    @Test func aCableThatIsPulledAndPutBackIsFoundAgain() async throws {
        try await withFolder { folder in
            let link = folder.appendingPathComponent("receiver").path
            let first = try Cable()
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: first.path)
            let runner = SourceRunner([NMEASource(.serial(path: link))])
            try await whileRunning(runner) { log in
                try await self.sendUntilReceived(first, log, Sentences.epoch(0))
                first.pull()
                try await log.wait(for: "loss") { _ in log.notices.count == 1 }
                let second = try Cable()
                try FileManager.default.removeItem(atPath: link)
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: second.path)
                try await self.sendUntilReceived(second, log, Sentences.epoch(7))
                try await log.wait(for: "found again") { _ in log.notices.last == .found(source: "nmea:\(link)") }
                second.pull()
            }
        }
    }

    @Test func aDeviceThatIsNoSerialLineIsAnError() async {
        let (_, error) = await runToEnd(NMEASource(.serial(path: "/dev/null")))
        #expect(error?.code == .inputUnreadable && error?.message.hasPrefix("cannot use nmea:/dev/null: ") == true)
        let (_, missing) = await runToEnd(NMEASource(.serial(path: "/dev/godwit-nothing")))
        #expect(
            missing
                == TrackingError(
                    .inputUnreadable, "cannot use nmea:/dev/godwit-nothing: No such file or directory"))
    }

    /// Sends an epoch until a fix with its time arrives: what is sent before the source has opened the line is lost.
    private func sendUntilReceived(_ cable: Cable, _ log: EventLog<SourceEvent>, _ epoch: [String]) async throws {
        let before = log.fixes.count
        for _ in 0..<150 where log.fixes.count == before {
            cable.send(Sentences.text(epoch))
            try? await log.wait(for: "fix", within: .milliseconds(400)) { _ in log.fixes.count > before }
        }
        #expect(log.fixes.count > before)
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: [UInt8]) -> Bool {
        self.indices.contains { self[$0...].starts(with: other) }
    }
}
