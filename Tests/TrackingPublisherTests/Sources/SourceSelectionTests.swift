import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct SourceSelectionTests {
    private typealias Action = SourceSelectionStateMachine.Action
    private static let broken = TrackingError(.inputUnreadable, "cable out")

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }

    private func machine(
        _ classes: [Resolution.Accuracy], wanting accuracy: Resolution.Accuracy, isLive: Bool = true
    ) -> SourceSelectionStateMachine {
        SourceSelectionStateMachine(
            classes.enumerated().map {
                SourceFacts(name: "s\($0)", kind: .gps, isFinite: !isLive, isLive: isLive, accuracy: $1)
            }, accuracy: accuracy)
    }

    @Test(arguments: [
        ([Resolution.Accuracy.low, .high, .maximum], Resolution.Accuracy.minimum, 0),
        ([.low, .high, .maximum], .low, 0),
        ([.low, .high, .maximum], .balanced, 1), ([.low, .high, .maximum], .maximum, 2),
        ([.maximum, .high, .low], .balanced, 1), ([.low, .low], .maximum, 0), ([.high, .high], .low, 0),
        ([.minimum, .balanced, .balanced], .high, 1),
    ])
    func theCheapestThatSufficesRuns(classes: [Resolution.Accuracy], wanted: Resolution.Accuracy, expected: Int) {
        var machine = self.machine(classes, wanting: wanted)
        #expect(machine.started(now: self.at(0)) == [.run(expected), .deliver(.selected(source: "s\(expected)"))])
    }

    @Test func anotherAccuracyClosesOneAndOpensTheOther() {
        var machine = self.machine([.low, .high], wanting: .low)
        _ = machine.started(now: self.at(0))
        #expect(machine.accuracyChanged(to: .minimum, now: self.at(1)) == [])
        #expect(
            machine.accuracyChanged(to: .high, now: self.at(2)) == [
                .stop(0), .run(1), .deliver(.selected(source: "s1")),
            ])
        #expect(
            machine.accuracyChanged(to: .low, now: self.at(3)) == [
                .stop(1), .run(0), .deliver(.selected(source: "s0")),
            ])
    }

    @Test func aBrokenSourceIsTriedAgainWithGrowingWaits() {
        var machine = self.machine([.high], wanting: .high)
        #expect(machine.started(now: self.at(0)) == [.run(0)])
        var now = 0
        for (attempt, wait) in [1, 2, 4, 8, 16, 32, 60, 60, 60].enumerated() {
            let reported: [Action] = attempt == 0 ? [.deliver(.lost(source: "s0", reason: Self.broken))] : []
            #expect(machine.broke(0, Self.broken, now: self.at(now)) == reported)
            #expect(machine.deadline == self.at(now + wait))
            #expect(machine.timerFired(now: self.at(now + wait - 1)) == [])
            now += wait
            #expect(machine.timerFired(now: self.at(now)) == [.run(0)])
            #expect(machine.timerFired(now: self.at(now)) == [])
        }
        #expect(machine.delivered(0, now: self.at(now)) == [.deliver(.found(source: "s0"))])
        #expect(machine.delivered(0, now: self.at(now + 1)) == [])
    }

    /// Each broken source has its own wait, including the substitute for the best one.
    @Test func whereAllAreBrokenEachWaits() {
        var machine = self.machine([.high, .low, .minimum], wanting: .high)
        _ = machine.started(now: self.at(0))
        for source in 0..<3 { _ = machine.broke(source, Self.broken, now: self.at(0)) }
        #expect(machine.timerFired(now: self.at(0)) == [])
        #expect(machine.deadline == self.at(1))
        let second = machine.timerFired(now: self.at(1)).filter { if case .run = $0 { true } else { false } }
        #expect(second == [.run(0), .run(1)])
        for source in 0..<2 { _ = machine.broke(source, Self.broken, now: self.at(1)) }
        #expect(machine.timerFired(now: self.at(1)).filter { $0 == .run(0) || $0 == .run(1) } == [])
        #expect(machine.deadline.map { $0 > self.at(1) } != false, "nothing spins")
    }

    @Test func onlyASourceThatDeliveredForAWhileStartsWithAShortWait() {
        var machine = self.machine([.high], wanting: .high)
        _ = machine.started(now: self.at(0))
        _ = machine.broke(0, Self.broken, now: self.at(0))
        _ = machine.timerFired(now: self.at(1))
        _ = machine.delivered(0, now: self.at(1))
        _ = machine.broke(0, Self.broken, now: self.at(2))
        #expect(machine.deadline == self.at(4))
        _ = machine.timerFired(now: self.at(4))
        _ = machine.delivered(0, now: self.at(5))
        _ = machine.broke(0, Self.broken, now: self.at(35))
        #expect(machine.deadline == self.at(36))
    }

    @Test func theNextBestRunsUntilTheRightOneDeliversAgain() {
        var machine = self.machine([.low, .high], wanting: .high)
        #expect(machine.started(now: self.at(0)) == [.run(1), .deliver(.selected(source: "s1"))])
        #expect(
            machine.broke(1, Self.broken, now: self.at(5))
                == [.deliver(.lost(source: "s1", reason: Self.broken)), .run(0), .deliver(.selected(source: "s0"))])
        // On trial: the substitute goes on.
        #expect(machine.timerFired(now: self.at(6)) == [.run(1)])
        #expect(machine.delivered(0, now: self.at(6)) == [])
        #expect(machine.broke(1, Self.broken, now: self.at(7)) == [])
        #expect(machine.timerFired(now: self.at(9)) == [.run(1)])
        #expect(
            machine.delivered(1, now: self.at(10))
                == [.deliver(.found(source: "s1")), .stop(0), .deliver(.selected(source: "s1"))])
    }

    @Test func whenAllAreBrokenEachIsTriedInItsTime() {
        var machine = self.machine([.low, .high], wanting: .high)
        _ = machine.started(now: self.at(0))
        _ = machine.broke(1, Self.broken, now: self.at(0))
        #expect(machine.broke(0, Self.broken, now: self.at(0)) == [.deliver(.lost(source: "s0", reason: Self.broken))])
        #expect(machine.deadline == self.at(1))
        let actions = machine.timerFired(now: self.at(1))
        #expect(Set(actions).isSuperset(of: [.run(0), .run(1)]))
    }

    @Test func aBrokenSourceThatIsNotWantedIsLeftAlone() {
        var machine = self.machine([.low, .high], wanting: .high)
        _ = machine.started(now: self.at(0))
        _ = machine.broke(1, Self.broken, now: self.at(0))
        #expect(machine.accuracyChanged(to: .low, now: self.at(0)) == [])
        #expect(machine.deadline == nil)
        #expect(machine.timerFired(now: self.at(100)) == [])
        // Wanted again: it is tried at once, beside the one that runs, which stays until it delivers.
        #expect(machine.accuracyChanged(to: .high, now: self.at(200)) == [.run(1)])
    }

    @Test func aRecordingEndsAndIsNotTriedAgain() {
        var machine = self.machine([.high], wanting: .high, isLive: false)
        _ = machine.started(now: self.at(0))
        #expect(machine.ended(0, now: self.at(1)) == [.finish])
        var broken = self.machine([.high], wanting: .high, isLive: false)
        _ = broken.started(now: self.at(0))
        #expect(broken.broke(0, Self.broken, now: self.at(1)) == [.fail(Self.broken)])
    }

    @Test func afterOneEndedTheOthersRun() {
        var machine = self.machine([.low, .high], wanting: .high, isLive: false)
        _ = machine.started(now: self.at(0))
        #expect(machine.ended(1, now: self.at(1)) == [.run(0), .deliver(.selected(source: "s0"))])
        #expect(machine.ended(1, now: self.at(1)) == [])
        #expect(machine.ended(0, now: self.at(2)) == [.finish])
    }

    /// Invariants: at most two sources run, none runs twice, and one waits or runs while any is left.
    @Test(arguments: 1...200) func anyStoryKeepsTheRules(seed: UInt64) {
        var dice = Dice(seed)
        let classes = (0..<3).map { _ in Resolution.Accuracy.allCases.randomElement(using: &dice) ?? .low }
        var machine = self.machine(classes, wanting: .high)
        var running: Set<Int> = []
        var now = 0
        func check(_ actions: [Action]) {
            for action in actions {
                switch action {
                case .run(let index):
                    #expect(!running.contains(index))
                    running.insert(index)
                case .stop(let index):
                    #expect(running.contains(index))
                    running.remove(index)
                case .deliver: break
                case .finish, .fail: Issue.record("nothing ended")
                }
            }
            #expect(running.count <= 2)
            #expect(!running.isEmpty || machine.deadline != nil)
        }
        check(machine.started(now: self.at(0)))
        for _ in 0..<200 {
            now += Int.random(in: 0...20, using: &dice)
            let source = running.randomElement(using: &dice)
            switch (Int.random(in: 0..<4, using: &dice), source) {
            case (0, .some(let source)):
                running.remove(source)
                check(machine.broke(source, Self.broken, now: self.at(now)))
            case (1, .some(let source)): check(machine.delivered(source, now: self.at(now)))
            case (2, _):
                let accuracy = Resolution.Accuracy.allCases.randomElement(using: &dice) ?? .low
                check(machine.accuracyChanged(to: accuracy, now: self.at(now)))
            default: check(machine.timerFired(now: self.at(now)))
            }
        }
    }
}
