import Foundation
import TestSupport
import Testing

/// Real gpsd with the built agent: a watcher sees the reports of gpsd, the agent requests the matching cycle, and gpsd
/// may end and return.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GpsdTests {
    private static let isWithoutTracks: Comment = "the shared recordings are absent"

    // MARK: - Positions

    /// A receiver that the test simulates, a gpsd that reads it, and two clients of that gpsd: an agent and `gpspipe`.
    private struct Stage {
        let receiver: PseudoTerminal
        let gpsd: GPSDProcess
        let track: Track
        private let pipe: ChildProcess
        private let pipeOutput: URL

        static func start() async throws -> Stage {
            let receiver = try PseudoTerminal()
            let gpsd = try await GPSDProcess.start(receiver.path)
            let track = try await Track.start([gpsd.url])
            let output = FileManager.default.temporaryDirectory.appending(path: "gpspipe-\(UUID().uuidString)")
            let program = try GPSDProcess.find("gpspipe", package: "gpsd-clients")
            let pipe = try ChildProcess(program, ["-w", "127.0.0.1:\(gpsd.port)"], output: output.path())
            try await gpsd.waitForClient("?WATCH={\"enable\":true", count: 2)
            return Stage(receiver: receiver, gpsd: gpsd, track: track, pipe: pipe, pipeOutput: output)
        }

        /// Ends everything.
        ///
        /// - Returns: The fixes that `gpspipe` and the watcher received.
        func end() async throws -> (reported: [Fix], watched: [Fix]) {
            defer { try? FileManager.default.removeItem(at: self.pipeOutput) }
            // In this order, no message is in transit when its reader ends.
            try await self.gpsd.end()
            try await self.pipe.waitForEnd()
            try await self.track.agent.waitForLog("Position source lost")
            let reported = Fix.reported(try String(contentsOf: self.pipeOutput, encoding: .utf8))
            return (reported, try await self.track.end(fixes: reported.count))
        }
    }

    /// The recordings, and the number of lines that are played. The numbers limit each to 60 fixes. A publisher keeps
    /// that many even if gpsd gives them dates in the future (it shifts dates before 2017 by 1,024 weeks), or if the
    /// broker is slow.
    private static let recordings: [(name: String, lines: Int)] = [
        ("blumax-gps009", .max), ("bt451", .max), ("bundg_zeus_9", 100), ("garmin15x", .max), ("geos-1m", .max),
        ("haicom-305N", 120), ("humminbird-M37", .max), ("motorola-t805", .max), ("nl2008u", .max),
        ("quectel-eg25-g", 500), ("rst39", .max), ("sl869", .max), ("tr737A+", .max), ("ublox-lea-4h", .max),
    ]

    private static func recording(_ name: String, _ ending: String) throws -> Data {
        try Data(contentsOf: try #require(Programs.tracks).appending(path: "gpsd/\(name).\(ending)"))
    }

    private static func lines(of name: String) throws -> [Data] {
        try Self.recording(name, "log").split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    @Test(.enabled(if: Programs.tracks != nil, isWithoutTracks), arguments: recordings)
    func aRecordedReceiverArrivesAsGpsdReportsIt(name: String, lines: Int) async throws {
        let stage = try await Stage.start()
        let played = try Self.lines(of: name).prefix(lines).joined(separator: [UInt8(ascii: "\n")])
        try await stage.receiver.send(played + [UInt8(ascii: "\n")])
        let (reported, watched) = try await stage.end()
        #expect((5...60).contains(reported.count))
        #expect(watched == reported)
        // For that ship with many talkers, the reported talker depends on the division of gpsd's reads.
        if name != "bundg_zeus_9" { try self.compare(watched, withCheckOf: name) }
    }

    /// Compares the places with gpsd's own reference for the recording. The dates of the reference differ, because it
    /// was made with other reads.
    private func compare(_ fixes: [Fix], withCheckOf name: String) throws {
        let reference = Dictionary(
            grouping: Fix.reported(String(decoding: try Self.recording(name, "log.chk"), as: UTF8.self)),
            by: \.timeOfDay)
        let known = fixes.filter { reference[$0.timeOfDay] != nil }
        #expect(known.count * 10 >= fixes.count * 8)
        for fix in known {
            #expect(reference[fix.timeOfDay]?.contains(where: fix.isAt) == true, "\(name): \(fix)")
        }
    }

    @Test func aRideOfOurOwnArrivesAsGpsdReportsIt() async throws {
        let stage = try await Stage.start()
        let start = Fix.recently
        let ride = (0..<40).map { Fix.invented($0, start: start) }
        try await stage.receiver.send(ride.map(\.sentences).joined().utf8)
        let (reported, watched) = try await stage.end()
        #expect(watched == reported)
        #expect(watched.allSatisfy { fix in ride.contains { $0.time == fix.time && $0.isAt(fix) } })
        // gpsd needs some sentences to identify its input, more on a loaded machine.
        #expect(Set(watched.map(\.time)).count >= 15)
    }

    // MARK: - The cycle

    @Test func theResolutionArrivesAtTheReceiverAsItsCycle() async throws {
        let receiver = try PseudoTerminal()
        let gpsd = try await GPSDProcess.start(receiver.path, writes: true)
        let track = try await Track.start(
            [gpsd.url], options: ["--default-resolution", "BALANCED/4000/0", "--floor", "MAXIMUM/0/0"])
        func asked(_ cycle: String) -> String { "?DEVICE={\"path\":\"\(receiver.path)\",\"cycle\":\(cycle)}" }
        try await gpsd.waitForClient(asked("4.000"))
        // The receiver identifies itself as one whose cycle gpsd can set.
        let start = Fix.recently
        var count = 0
        while !gpsd.log.contains("\"mincycle\":") {
            count += 1
            try #require(count < 200, "gpsd did not recognise the receiver: \(gpsd.log.suffix(2000))")
            let version = NMEAText.sentence("PMTK705,AXN_2.31_3339_13101700,5632,PA6H,1.0")
            try await receiver.send((Fix.invented(count, start: start).sentences + version).utf8)
            try await Task.sleep(for: .milliseconds(20))  // about the rate of a receiver
        }
        let eager = try Programs.start(
            "godwit", ["watch", "van", "--broker", track.broker.url, "--resolution", "HIGH/200/0"])
        try await gpsd.waitForClient(asked("0.200"))
        try await receiver.waitForCommand("$PMTK300,200,0,0,0,0*")
        eager.terminate()
        #expect(try await eager.result(within: .seconds(60)).code == 0)
        try await gpsd.waitForClient(asked("4.000"), count: 2)
        // One second is the longest cycle that gpsd knows for this receiver.
        try await receiver.waitForCommand("$PMTK300,1000,0,0,0,0*")
        _ = try await track.end(fixes: 0)
    }

    private static let greeting = """
        {"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
        {"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyUSB0","activated":"2024-05-17T12:00:01Z","cycle":1.00}]}

        """

    @Test func ofTwoSourcesTheFinerOneIsReallyClosedUntilItIsAskedFor() async throws {
        let coarse = try LineServer(welcome: Self.greeting)
        let fine = try LineServer(welcome: Self.greeting)
        let track = try await Track.start(
            [
                "gpsd://127.0.0.1:\(fine.port)#accuracy=HIGH", "gpsd://127.0.0.1:\(coarse.port)#accuracy=LOW",
            ], options: ["--default-resolution", "LOW/5000/0", "--floor", "MAXIMUM/0/0"])
        let asksForLess = LineServer.Event.line(1, "?DEVICE={\"path\":\"/dev/ttyUSB0\",\"cycle\":5.000};")
        try await coarse.log.wait("the coarse source to run") { $0 == asksForLess }
        // The short cycle may have applied for a moment, before any request was known.
        try await fine.waitUntilDeserted()
        let eager = try Programs.start(
            "godwit", ["watch", "van", "--broker", track.broker.url, "--resolution", "HIGH/200/0"])
        try await fine.log.wait("the fine source to be opened and asked for its best") { event in
            if case .line(_, let text) = event { text.hasSuffix("\"cycle\":0.200};") } else { false }
        }
        try await coarse.waitUntilDeserted()
        #expect(fine.openConnections == 1)
        eager.terminate()
        #expect(try await eager.result(within: .seconds(60)).code == 0)
        try await coarse.log.wait("the coarse source to be opened again") { $0 == .connected(2) }
        try await fine.waitUntilDeserted()
        #expect(coarse.openConnections == 1)
        _ = try await track.end(fixes: 0)
    }

    // MARK: - A gpsd that comes and goes

    /// gpsd reports in this order if it does not recognize the first bytes of the receiver.
    @Test func aReceiverThatGpsdDoesNotKnowAtFirstIsReadOnTheSameConnection() async throws {
        let fix = Fix.invented(0, start: Fix.recently)
        let time = Date(timeIntervalSince1970: Double(fix.time) / 1000).ISO8601Format()
        let device = #"{"class":"DEVICE","path":"/dev/ttyUSB0","activated":"2024-05-17T12:00:01Z","bps":4800}"#
        let gpsd = try LineServer(
            welcome: """
                {"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}
                {"class":"DEVICES","devices":[\(device)]}
                {"class":"ERROR","message":"Type of /dev/ttyUSB0 is unknown."}
                \(device)
                {"class":"DEVICE","path":"/dev/ttyUSB0","activated":0}
                \(device)
                {"class":"DEVICE","path":"/dev/ttyUSB0","driver":"u-blox","activated":"2024-05-17T12:00:04Z"}
                {"class":"TPV","device":"/dev/ttyUSB0","mode":3,"time":"\(time)","lat":\(fix.latitude),"lon":\(fix.longitude)}

                """)
        let track = try await Track.start(["gpsd://127.0.0.1:\(gpsd.port)"])
        try await track.wait(fixes: 1)
        #expect(try await track.end(fixes: 1) == [fix])
        #expect(
            !track.agent.errors.contains("Position source lost")
                && !track.agent.errors.contains("Invalid input line from a position source ignored"))
        #expect(gpsd.arrivals.count == 1)
    }

    @Test func aGpsdThatIsKilledAndComesBackIsReadAgain() async throws {
        let receiver = try PseudoTerminal()
        let gpsd = try await GPSDProcess.start(receiver.path)
        let track = try await Track.start([gpsd.url])
        try await gpsd.waitForClient("?WATCH=")
        let start = Fix.recently
        for number in 0..<10 { try await receiver.send(Fix.invented(number, start: start).sentences.utf8) }
        try await track.wait(fixes: 1)
        try await gpsd.end(SIGKILL)
        try await track.agent.waitForLog("Position source lost")
        let before = track.watchedCount
        try await gpsd.launch()
        try await gpsd.waitForClient("?WATCH=", count: 2)
        for number in 10..<20 { try await receiver.send(Fix.invented(number, start: start).sentences.utf8) }
        // Fixes from before may still be arriving.
        try await waitUntil { try Fix.watched(track.watch.output).contains { $0.time >= (start + 10) * 1000 } }
        let fixes = try await track.end(fixes: before + 1)
        #expect(fixes.map(\.time) == fixes.map(\.time).sorted())
    }

    @Test func theWaitsBetweenTriesGrow() async throws {
        let gpsd = try LineServer(welcome: nil)
        let track = try await Track.start(["gpsd://127.0.0.1:\(gpsd.port)"])
        try await gpsd.log.wait("the third try") { $0 == .connected(3) }
        let arrivals = gpsd.arrivals
        #expect(arrivals[0].duration(to: arrivals[1]) >= .milliseconds(950))
        #expect(arrivals[1].duration(to: arrivals[2]) >= .milliseconds(1_950))
        let fix = Fix.invented(0, start: Fix.recently)
        let time = Date(timeIntervalSince1970: Double(fix.time) / 1000).ISO8601Format()
        gpsd.welcome(
            with: Self.greeting
                + "{\"class\":\"TPV\",\"mode\":3,\"time\":\"\(time)\",\"lat\":\(fix.latitude),\"lon\":\(fix.longitude)}\n"
        )
        try await track.wait(fixes: 1)
        let fixes = try await track.end(fixes: 1)
        #expect(fixes == [fix])
        // The loss is logged once, despite several attempts.
        #expect(track.agent.errors.components(separatedBy: "Position source lost").count == 2)
    }
}
