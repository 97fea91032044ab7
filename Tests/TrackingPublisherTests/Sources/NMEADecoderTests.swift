import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct NMEADecoderTests {
    private static let clock = UnixTime.at("2024-05-17T12:00:30Z")

    private func decode(_ bodies: [String], isLive: Bool = false, clock: UnixTime = clock) -> [Location] {
        var decoder = NMEADecoder(isLive: isLive)
        let lines = bodies.enumerated().map { LineSplitter.Line.text(Array($1.utf8)[...], number: $0 + 1) }
        let events = lines.flatMap { decoder.receive(NMEALine($0), clock: clock) } + decoder.finish(clock: clock)
        return events.fixes
    }

    private func make(_ bodies: String...) -> [String] { bodies.map(Sentences.make) }

    @Test func theSentencesOfAnEpochBecomeOneFix() throws {
        let fixes = self.decode(Sentences.epoch(1))
        let fix = try #require(fixes.first)
        #expect(fixes.count == 1)
        #expect(fix.time == .at("2024-05-17T12:00:01Z"))
        #expect(abs(fix.coordinate.latitude - (52 + 39.1001 / 60)) < 1e-9)
        #expect(abs(fix.coordinate.longitude + (8 + 37.5 / 60)) < 1e-9)
        // Height above the ellipsoid: above the sea, plus the geoid's own.
        #expect(fix.altitude == 77)
        #expect(abs((fix.speed ?? 0) - 5.144_444) < 1e-5 && fix.bearing == 45)
        // From GST, not from HDOP: 3 and 4 m make 5 m.
        #expect(abs((fix.accuracyHorizontal ?? 0) - 5 * 1.0675) < 1e-9 && fix.accuracyVertical == 6)
    }

    /// A receiver that was switched off and on again does not know its time and position for a while.
    @Test(arguments: [
        ("GPGGA,120002,9500.0,N,00837.5,W,1,09,0.9,20,M,57,M,,", "GPGGA has an impossible position"),
        ("GPRMC,120002,A,5239.1,N,00875.0,W,10.0,45.0,170524", "GPRMC has an impossible position"),
        ("GPGLL,5239.1,,00837.5,W,120002,A", "GPGLL has an impossible position"),
        ("GPRMC,120002,A,5239.1,N,00837.5,W,10.0,45.0,171324", "GPRMC has an impossible date"),
        ("GPZDA,120002,31,02,2024,00,00", "GPZDA has an impossible date"),
        ("GPGGA,126002,5300.0,N,00837.5,W,1,09,0.9,20,M,57,M,,", "GPGGA has an impossible time of day"),
        ("GPRMC,120002,A,9500.0,N,00837.5,W,10.0,45.0,171324", "GPRMC has an impossible date and position"),
    ])
    func impossibleValuesAreReported(body: String, what: String) {
        var decoder = NMEADecoder(isLive: false)
        let bodies = ["GPRMC,120001,A,5239.1,N,00837.5,W,10.0,45.0,170524", body]
        let lines = self.make(bodies[0], bodies[1]).enumerated().map { index, text in
            NMEALine(.text(Array(text.utf8)[...], number: index + 1))
        }
        let events = lines.flatMap { decoder.receive($0, clock: Self.clock) } + decoder.finish(clock: Self.clock)
        #expect(events.contains(.badInput("line 2: the sentence \(what)")))
        let fixes = events.fixes
        #expect(fixes.first?.time == .at("2024-05-17T12:00:01Z"))
        #expect(abs((fixes.first?.coordinate.latitude ?? 0) - (52 + 39.1 / 60)) < 1e-9, "of another epoch")
        // The day is that of the earlier sentence.
        let times: [UnixTime] = what == "GPRMC has an impossible date" ? [.at("2024-05-17T12:00:02Z")] : []
        #expect(fixes.dropFirst().map(\.time) == times)
    }

    /// The values of a receiver without a fix are not checked.
    @Test(arguments: [
        "GPRMC,,V,,,,,,,,,,N", "GPRMC,999999,V,9999.9,N,99999.9,E,,,000000,,,N", "GPGGA,,,,,,0,00,99.99,,,,,,",
        "GPGGA,120002,,,,,1,00,99.99,,,,,,", "GPZDA,120002,00,00,0000,00,00", "GPZDA,,,,,,", "GPGLL,,,,,120002,V,N",
        "GPGLL,5239.1,N,00837.5,W,,A",
    ])
    func missingValuesAreNotReported(body: String) {
        var decoder = NMEADecoder(isLive: false)
        let line = NMEALine(.text(Array(Sentences.make(body).utf8)[...], number: 1))
        #expect(decoder.receive(line, clock: Self.clock).isEmpty)
    }

    @Test(arguments: [false, true]) func theLastFixBeforeTheReceiverForgotTheTimeIsGiven(isLive: Bool) {
        let lost = self.make("GPRMC,,V,,,,,,,,,,N", "GPGGA,,,,,,0,00,99.99,,,,,,", "GPGSA,A,1,,,,,,,,,,,,,,,")
        let fixes = self.decode(
            Sentences.epoch(1) + Sentences.epoch(2) + lost + lost + Sentences.epoch(9), isLive: isLive)
        #expect(fixes.map { $0.time.seconds - UnixTime.at("2024-05-17T12:00:00Z").seconds } == [1, 2, 9])
    }

    @Test func withoutGSTTheDilutionIsTheAccuracy() throws {
        let single = try #require(self.decode(Sentences.epoch(1).filter { !$0.contains("GST") }).first)
        #expect(abs((single.accuracyHorizontal ?? 0) - 0.9 * 5 * 1.0675) < 1e-9)
        #expect(single.accuracyVertical == 1.4 * 5)
        let differential = try #require(
            self.decode(self.make("GPGGA,120001,5239.1,N,00837.5,W,2,09,0.9,20.0,M,57.0,M,,")).first)
        #expect(abs((differential.accuracyHorizontal ?? 0) - 0.9 * 2 * 1.0675) < 1e-9)
        let unknown = try #require(
            self.decode(self.make("GPGGA,120001,5239.1,N,00837.5,W,1,09,99.99,20.0,M,,M,,")).first)
        #expect(unknown.accuracyHorizontal == nil && unknown.altitude == nil)
    }

    @Test func whatAReceiverCallsSimulatedIsAMock() throws {
        for (quality, isMock) in [(1, false), (2, false), (8, true)] {
            let sentence = "GPGGA,120001,5239.1,N,00837.5,W,\(quality),09,0.9,20.0,M,57.0,M,,"
            let fix = try #require(self.decode(self.make(sentence)).first)
            #expect(MockPolicy.isMock(fix) == isMock)
        }
    }

    @Test func everyEpochIsGivenOnceInOrder() {
        let lines = (0..<120).flatMap { Sentences.epoch($0) }
        for isLive in [false, true] {
            let fixes = self.decode(lines, isLive: isLive)
            #expect(fixes.count == 120)
            #expect(
                fixes.map(\.time)
                    == (0..<120).map { UnixTime(UnixTime.at("2024-05-17T12:00:00Z").seconds + Double($0)) })
            #expect(fixes.allSatisfy { $0.altitude == 77 && $0.speed != nil && $0.accuracyVertical == 6 })
        }
    }

    @Test func aLiveReceiverIsNotMadeToWaitForTheNextEpoch() {
        var decoder = NMEADecoder(isLive: true)
        var given: [Int] = []
        for (epoch, lines) in (0..<5).map({ Sentences.epoch($0) }).enumerated() {
            for line in lines {
                let events = decoder.receive(NMEALine(.text(Array(line.utf8)[...], number: 1)), clock: Self.clock)
                for fix in events.fixes { given.append(epoch - (Int(fix.time.seconds) % 60)) }
            }
        }
        // The first two wait for the next; then the last sentence of an epoch is known: from the third on, at once.
        #expect(given == [1, 1, 0, 0, 0])
    }

    @Test func aQuietLineEndsAnEpoch() {
        var decoder = NMEADecoder(isLive: true)
        for line in Sentences.epoch(0) {
            #expect(decoder.receive(NMEALine(.text(Array(line.utf8)[...], number: 1)), clock: Self.clock).isEmpty)
        }
        #expect(decoder.isWaiting)
        #expect(decoder.fellQuiet(clock: Self.clock).fixes.count == 1)
        #expect(
            !decoder.isWaiting && decoder.fellQuiet(clock: Self.clock).isEmpty
                && decoder.finish(clock: Self.clock).isEmpty)
    }

    @Test func aReceiverThatChangesItsMindAboutTheLastSentenceLosesNoFix() {
        var lines = (0..<5).flatMap { Sentences.epoch($0) }
        lines += (5..<10).flatMap { Sentences.epoch($0).filter { !$0.contains("GST") } }
        lines += (10..<15).flatMap { Sentences.epoch($0) + [Sentences.make("GNVTG,45.0,T,,M,10.0,N,18.52,K,A")] }
        #expect(self.decode(lines, isLive: true).map { Int($0.time.seconds) % 60 } == Array(0..<15))
    }

    @Test(arguments: [
        "GPRMC,120001,V,5239.1,N,00837.5,W,10.0,45.0,170524,,,A",
        "GPGGA,120001,5239.1,N,00837.5,W,0,09,0.9,20,M,57,M,,",
        "GPGGA,120001,5239.1,N,00837.5,W,7,09,0.9,20,M,57,M,,",
        "GPRMC,120001,A,5239.1,N,00837.5,W,10.0,45.0,170524,,,N",
        "GPGLL,5239.1,N,00837.5,W,120001,V,N", "GPGSA,A,1,,,,,,,,,,,,,1.7,0.9,1.4",
    ])
    func oneSentenceThatSaysNoFixIsEnough(body: String) {
        let sound = self.make(
            "GPGGA,120001,5239.1,N,00837.5,W,1,09,0.9,20,M,57,M,,", "GPRMC,120001,A,5239.1,N,00837.5,W,,,170524")
        #expect(self.decode(sound).count == 1)
        #expect(self.decode(sound + self.make(body)).isEmpty)
    }

    @Test func aFixInTwoDimensionsHasNoHeight() throws {
        let fix = try #require(
            self.decode(
                self.make("GPGGA,120001,5239.1,N,00837.5,W,1,04,0.9,20,M,57,M,,", "GPGSA,A,2,,,,,,,,,,,,,1.7,0.9,1.4")
            ).first)
        #expect(fix.altitude == nil && fix.accuracyVertical == nil && fix.accuracyHorizontal != nil)
    }

    @Test func aStationaryReceiverHasNoDirection() throws {
        let fix = try #require(self.decode(self.make("GPRMC,120001,A,5239.1,N,00837.5,W,0.00,45.0,170524")).first)
        #expect(fix.speed == 0 && fix.bearing == nil)
    }

    @Test func withoutADateTheClocksNearestDayIsTaken() {
        let lines = self.make(
            "GPGGA,235959,5239.1,N,00837.5,W,1,09,0.9,20,M,57,M,,",
            "GPGGA,000000,5239.1,N,00837.5,W,1,09,0.9,20,M,57,M,,")
        let times = self.decode(lines, clock: .at("2024-05-18T00:00:02Z")).map(\.time)
        #expect(times == [.at("2024-05-17T23:59:59Z"), .at("2024-05-18T00:00:00Z")])
    }

    @Test func aDateAppliesToLaterSentences() {
        let lines = self.make(
            "GPZDA,235958,17,05,2006,00,00", "GPGGA,235959,5239.1,N,00837.5,W,1,09,0.9,20,M,57,M,,",
            "GPGGA,000000,5239.1,N,00837.5,W,1,09,0.9,20,M,57,M,,")
        #expect(self.decode(lines).map(\.time) == [.at("2006-05-17T23:59:59Z"), .at("2006-05-18T00:00:00Z")])
    }

    @Test func aReceiverOfOneKindOfSentenceWorks() {
        let rmc = (0..<5).map { "GPRMC,\(Sentences.time($0)),A,5239.1,N,00837.5,W,1.0,45.0,170524,,,A" }.map(
            Sentences.make)
        let gll = (0..<5).map { "GPGLL,5239.1,N,00837.5,W,\(Sentences.time($0)),A" }.map(Sentences.make)
        #expect(self.decode(rmc, isLive: true).count == 5)
        #expect(self.decode(gll, isLive: true).count == 5)
    }

    @Test(arguments: 1...20) func garbageBetweenSentencesLosesNothingElse(seed: UInt64) {
        var dice = Dice(seed)
        var lines: [LineSplitter.Line] = []
        for line in (0..<20).flatMap({ Sentences.epoch($0) }) {
            lines.append(.text(Array(line.utf8)[...], number: 1))
            if Bool.random(using: &dice) {
                let count = Int.random(in: 1...80, using: &dice)
                lines.append(
                    .text((0..<count).map { _ in UInt8.random(in: 0x80...0xFF, using: &dice) }[...], number: 2))
            }
        }
        var decoder = NMEADecoder(isLive: true)
        let events =
            lines.flatMap { decoder.receive(NMEALine($0), clock: Self.clock) } + decoder.finish(clock: Self.clock)
        #expect(events.fixes.count == 20)
        #expect(events.count - 20 == lines.count - 120)
    }
}
