import Testing
import TrackingCore

@Suite struct CommandGateTests {
    private func command(_ id: String, at time: Double, until expires: Double? = nil) -> Command {
        Command(id: id, name: .report, time: UnixTime(time), expires: expires.map { UnixTime($0) })
    }

    @Test func aCommandIsExecutedOnce() {
        var gate = CommandGate()
        #expect(gate.consider(self.command("a", at: 100), now: UnixTime(101)) == .take)
        #expect(gate.consider(self.command("a", at: 100), now: UnixTime(101)) == .seen)
        #expect(gate.consider(self.command("b", at: 100), now: UnixTime(101)) == .take)
        #expect(gate.consider(self.command("a", at: 100), now: UnixTime(1e9)) == .seen)
    }

    @Test func aCommandIsDroppedAfterItsDeadline() {
        var gate = CommandGate()
        #expect(gate.consider(self.command("a", at: 100), now: UnixTime(160.001)) == .expired)
        #expect(gate.consider(self.command("a", at: 100), now: UnixTime(160)) == .take)
        #expect(gate.consider(self.command("b", at: 100, until: 110), now: UnixTime(111)) == .expired)
        #expect(gate.consider(self.command("c", at: 100, until: 1000), now: UnixTime(999)) == .take)
    }

    @Test func theLast256AreRememberedAndNoMore() {
        var gate = CommandGate()
        for number in 0..<1000 {
            #expect(gate.consider(self.command("\(number)", at: 0), now: UnixTime(0)) == .take)
        }
        for number in 744..<1000 {
            #expect(gate.consider(self.command("\(number)", at: 0), now: UnixTime(0)) == .seen, "\(number)")
        }
        #expect(gate.consider(self.command("743", at: 0), now: UnixTime(0)) == .take)
        #expect(gate.consider(self.command("744", at: 0), now: UnixTime(0)) == .take)
        #expect(gate.consider(self.command("746", at: 0), now: UnixTime(0)) == .seen)
    }

    @Test(arguments: [0, 1, 255, 256, 300, 1000]) func savedIdentifiersAreRememberedInOrder(count: Int) {
        var gate = CommandGate()
        for number in 0..<count { _ = gate.consider(self.command("\(number)", at: 0), now: UnixTime(0)) }
        var next = CommandGate(keeping: gate.kept)
        #expect(next.kept == gate.kept)
        for number in max(0, count - 256)..<count {
            #expect(next.consider(self.command("\(number)", at: 0), now: UnixTime(0)) == .seen, "\(number)")
        }
        // The oldest identifier is removed first.
        #expect(next.consider(self.command("new", at: 0), now: UnixTime(0)) == .take)
        if count > 256 {
            #expect(next.consider(self.command("\(count - 256)", at: 0), now: UnixTime(0)) == .take)
            #expect(next.consider(self.command("\(count - 1)", at: 0), now: UnixTime(0)) == .seen)
        }
    }

    @Test(arguments: ["", "{}", "[1,{}]", "no JSON", #"["",  "\u0000"]"#]) func unreadableStateIsDiscarded(
        kept: String
    ) {
        var gate = CommandGate(keeping: Array(kept.utf8))
        #expect(gate.consider(self.command("a", at: 0), now: UnixTime(0)) == .take)
    }
}
