import Foundation
import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

/// Tests against a gpsd of the test, which records the received lines.
@Suite(.timeLimit(.minutes(5))) struct GPSDSourceTests {
    private static let greeting = """
        {"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
        {"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyUSB0","activated":"2024-05-17T12:00:01Z","cycle":1.00,"mincycle":0.20}]}
        {"class":"WATCH","enable":true,"json":true}

        """

    private static func fix(_ second: Int) -> String {
        """
        {"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"2024-05-17T12:00:0\(second)Z","lat":52.65,"lon":-8.62}

        """
    }

    private static let watch = TestServer.Event.line(#"?WATCH={"enable":true,"json":true};"#)

    private static func cycle(_ seconds: String) -> TestServer.Event {
        .line(#"?DEVICE={"path":"/dev/ttyUSB0","cycle":"# + seconds + "};")
    }

    @Test func theCycleThatMatchesTheResolutionArrivesAtGPSD() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = GPSDSource(host: "127.0.0.1", port: server.port)
        await source.use(.every(milliseconds: 5000))
        try await whileRunning(source) { log in
            try await server.log.wait(for: "watch") { $0.contains(Self.watch) }
            server.send(Self.greeting)
            try await server.log.wait(for: "cycle") { $0.last == Self.cycle("5.000") }
            server.send(Self.fix(1))
            try await log.waitForFixes(1)
            await source.use(.every(milliseconds: 1000))
            try await server.log.wait(for: "finer cycle") { $0.last == Self.cycle("1.000") }
            await source.use(.every(milliseconds: 0))
            try await server.log.wait(for: "finest cycle") { $0.last == Self.cycle("0.200") }
            #expect(log.fixes.first?.source == .gps)
        }
        try await server.log.wait(for: "close") { $0.last == .closed }
    }

    @Test func betweenTwoFixesOfALongIntervalItIsNotConnectedUntilARequestWakesIt() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = GPSDSource(host: "127.0.0.1", port: server.port)
        await source.use(.every(milliseconds: 120_000, .low))
        try await whileRunning(source) { log in
            try await server.log.wait(for: "watch") { $0.contains(Self.watch) }
            server.send(Self.greeting)
            try await server.log.wait(for: "a short cycle while awake") { $0.last == Self.cycle("1.000") }
            server.send(Self.fix(1))
            try await log.waitForFixes(1)
            try await server.log.wait(for: "close") { $0.last == .closed }
            let wait = source.asleepUntil.map { DeviceClock.now.duration(to: $0) } ?? .zero
            #expect(wait > .zero && wait <= .seconds(110))
            await source.use(.every(milliseconds: 100_000, .low))
            await source.use(.every(milliseconds: 5000))
            try await server.log.wait(for: "second watch") { $0.filter { $0 == Self.watch }.count == 2 }
            server.send(Self.greeting)
            try await server.log.wait(for: "cycle") { $0.last == Self.cycle("5.000") }
            server.send(Self.fix(2))
            try await log.waitForFixes(2)
            #expect(source.asleepUntil == nil)
        }
    }

    @Test func withItsOwnCycleTheConnectionStaysOpen() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = GPSDSource(host: "127.0.0.1", port: server.port, asksForCycle: false)
        await source.use(.every(milliseconds: 120_000, .low))
        try await whileRunning(source) { log in
            try await server.log.wait(for: "watch") { $0.contains(Self.watch) }
            for second in 1...3 {
                server.send(Self.fix(second))
                try await log.waitForFixes(second)
            }
            #expect(server.log.all == [.connected, Self.watch])
        }
    }

    @Test func whateverArrivesIsSurvived() async throws {
        let server = try TestServer()
        defer { server.stop() }
        try await whileRunning(GPSDSource(host: "localhost", port: server.port)) { log in
            try await server.log.wait(for: "watch") { $0.contains(Self.watch) }
            server.send(Self.greeting + "rubbish\n\n{\"class\":\"TPV\",\"mode\":3}\n" + Self.fix(1))
            server.send(String(repeating: "x", count: 200_000) + "\n" + Self.fix(2))
            try await log.waitForFixes(2)
            #expect(log.badInputs.count == 2)
        }
    }

    @Test func aGPSDThatGoesAwayIsAnErrorAndTheSourceCanBeRunAgain() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = GPSDSource(host: "127.0.0.1", port: server.port)
        for round in 1...2 {
            async let outcome = runToEnd(source)
            try await server.log.wait(for: "watch") { $0.filter { $0 == Self.watch }.count == round }
            server.disconnect()
            let error = await outcome.error
            #expect(
                error
                    == TrackingError(
                        .inputUnreadable,
                        """
                        no fixes from gpsd://127.0.0.1:\(server.port): gpsd closed the connection. \
                        Check that gpsd runs
                        """))
        }
    }

    /// The server closes the connection before it reads the request for a cycle.
    @Test func reportsSentBeforeGPSDClosedAreRead() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = GPSDSource(host: "127.0.0.1", port: server.port)
        await source.use(.every(milliseconds: 5000))
        let log = EventLog<SourceEvent>()
        let error = try await withThrowingTaskGroup(of: TrackingError?.self) { group in
            group.addTask {
                do throws(TrackingError) {
                    try await source.run { event in
                        log.append(event)
                        guard log.fixes.count == 1 else { return }
                        server.reset()
                        try? await server.log.wait(for: "close") { $0.last == .closed }
                    }
                    return nil
                } catch {
                    return error
                }
            }
            try await server.log.wait(for: "watch") { $0.contains(Self.watch) }
            server.send(Self.fix(1) + Self.greeting + Self.fix(2) + Self.fix(3))
            return try await group.next() ?? nil
        }
        #expect(error?.code == .inputUnreadable)
        #expect(log.fixes.count == 3, "\(log.all)")
    }

    @Test func aHostThatDoesNotAnswerIsAnError() async throws {
        let server = try TestServer()
        server.stop()
        let port = server.port
        let (_, error) = await runToEnd(GPSDSource(host: "127.0.0.1", port: port))
        #expect(error == TrackingError(.inputUnreadable, "cannot use gpsd://127.0.0.1:\(port): Connection refused"))
        let (_, unknown) = await runToEnd(GPSDSource(host: "host.invalid"))
        #expect(unknown?.code == .inputUnreadable)
    }

    @Test func cancellationEndsItWhileItConnects() async throws {
        // An address that is reserved for documentation: no host answers.
        let start = DeviceClock.now
        var cancelled = start
        do {
            try await whileRunning(GPSDSource(host: "192.0.2.1")) { _ in
                await Task.yield()
                cancelled = DeviceClock.now
            }
        } catch let error as TrackingError where error.code == .inputUnreadable {
            // A network that refuses the address proves nothing here.
            guard error.message.contains("timed out") else { return }
            // It waited until it gave up by itself: no fault only where it did so before it was cancelled.
            #expect(start.duration(to: cancelled) > .seconds(9), "\(error)")
        }
    }

    @Test func nmeaFromAServerIsUnderstoodAndNeverAnswered() async throws {
        let server = try TestServer()
        defer { server.stop() }
        let source = NMEASource(.tcp(host: "127.0.0.1", port: server.port))
        await source.use(.every(milliseconds: 5000))
        try await whileRunning(source) { log in
            try await server.log.wait(for: "client") { $0 == [.connected] }
            server.send(Sentences.text([Sentences.make("PMTK705,AXN")] + Sentences.epoch(1)))
            // One epoch, and then silence.
            try await log.waitForFixes(1)
            server.send(Sentences.text(Sentences.epoch(2)) + "$GPGGA,half a sent")
            try await log.waitForFixes(2)
            #expect(server.log.all == [.connected])
            server.disconnect()
        }
    }
}
