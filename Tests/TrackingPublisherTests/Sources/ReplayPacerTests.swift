import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct ReplayPacerTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }

    @Test func fixesAreDueByTheirOwnTimes() {
        var pacer = ReplayPacer(pace: .times(2))
        #expect(pacer.due(UnixTime(1000), now: self.at(50)) == nil)
        #expect(pacer.due(UnixTime(1010), now: self.at(50)) == self.at(55))
        // Late by a second: what follows is not late too.
        #expect(pacer.due(UnixTime(1020), now: self.at(61)) == nil)
        #expect(pacer.due(UnixTime(1030), now: self.at(61)) == self.at(65))
        // Another track that begins earlier starts at once.
        #expect(pacer.due(UnixTime(500), now: self.at(66)) == nil)
        #expect(pacer.due(UnixTime(502), now: self.at(66)) == self.at(67))
    }

    @Test func atFullSpeedNothingWaitsAndEverythingIsWanted() {
        var pacer = ReplayPacer(pace: .maximum)
        for second in 0..<100 {
            #expect(pacer.due(UnixTime(Double(second)), now: self.at(0)) == nil)
            #expect(pacer.isWanted(UnixTime(Double(second)), under: .every(milliseconds: 30_000)) == true)
        }
    }

    @Test(arguments: [(0, 100), (1000, 100), (1050, 100), (1200, 50), (5000, 20), (30_000, 4)])
    func aPacedReplayThinsItself(milliseconds: Int, expected: Int) {
        var pacer = ReplayPacer(pace: .recorded)
        let wanted = (0..<100).filter {
            pacer.isWanted(UnixTime(Double($0)), under: .every(milliseconds: milliseconds))
        }
        #expect(wanted.count == expected && wanted.first == 0)
    }

    @Test func aFinerResolutionTakesEffectWithTheNextFix() {
        var pacer = ReplayPacer(pace: .recorded)
        #expect(pacer.isWanted(UnixTime(0), under: .every(milliseconds: 30_000)) == true)
        #expect(pacer.isWanted(UnixTime(5), under: .every(milliseconds: 30_000)) == false)
        #expect(pacer.isWanted(UnixTime(6), under: .every(milliseconds: 1000)) == true)
        #expect(pacer.isWanted(UnixTime(2), under: .every(milliseconds: 1000)) == true)
        #expect(pacer.isWanted(UnixTime(2.1), under: nil) == true)
    }

    @Test(arguments: ["1", "0.001", "10", "1000000"]) func speedsAreRead(text: String) throws {
        #expect(try ReplayPace.parse(text) == .times(Double(text) ?? 0))
    }

    @Test(arguments: ["0", "-1", "", "fast", "MAX", "nan", "inf", "1000001", "1e-300"]) func otherSpeedsAreRefused(
        text: String
    ) {
        #expect(throws: TrackingError.self) { try ReplayPace.parse(text) }
    }
}
