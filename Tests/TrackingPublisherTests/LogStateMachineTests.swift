import Testing
import TrackingCore

@testable import TrackingPublisher

/// Conversations with the state machine of the durable log, without a file and a clock.
@Suite struct LogStateMachineTests {
    private let start = ContinuousClock.now
    private let damage = TrackingError(.spoolFailed, "the disk is full")

    private func entry(_ seq: UInt64, bytes: Int = 1) throws -> SpoolEntry {
        let payload = [UInt8](repeating: 1, count: bytes)
        let record = SpoolRecord(seq: seq, time: UnixTime(1), kind: .point, payload: payload)
        return SpoolEntry(record, of: try TrackableID("van"), in: try #require(StreamID("one")))
    }

    private func place() throws -> LogWorker.Place {
        LogWorker.Place(trackable: try TrackableID("van"), stream: try #require(StreamID("one")))
    }

    private func after(_ seconds: Double) -> ContinuousClock.Instant { self.start.advanced(by: .seconds(seconds)) }

    @Test func recordsAndValuesOfOneRoundAreOneTransaction() throws {
        var machine = LogStateMachine()
        #expect(machine.nextWrite() == nil)
        machine.append(try self.entry(1))
        machine.set("trip", [1])
        machine.append(try self.entry(2))
        machine.set("trip", [2])
        let write = try #require(machine.nextWrite())
        #expect(write.entries.map(\.record.seq) == [1, 2])
        #expect(write.state == ["trip": [2]] && write.isLast)
        machine.didWrite(write, isWritten: true)
        #expect(machine.nextWrite() == nil)
    }

    @Test func aLargeBacklogIsWrittenInPartsAndTheValuesComeLast() throws {
        var machine = LogStateMachine()
        for seq in 1...UInt64(LogStateMachine.maximumWrite + 1) { machine.append(try self.entry(seq)) }
        machine.set("trip", [1])
        let first = try #require(machine.nextWrite())
        #expect(first.entries.count == LogStateMachine.maximumWrite && first.state.isEmpty && !first.isLast)
        machine.didWrite(first, isWritten: true)
        let last = try #require(machine.nextWrite())
        #expect(last.entries.count == 1 && last.state == ["trip": [1]] && last.isLast)
    }

    @Test func rejectedValuesAreWrittenWithTheNextTransactionUnlessThereIsANewerValue() throws {
        var machine = LogStateMachine()
        machine.set("trip", [1])
        machine.set("commands", [1])
        machine.didWrite(try #require(machine.nextWrite()), isWritten: false)
        #expect(machine.nextWrite() == nil, "a rejected value alone is no reason to write")
        machine.set("trip", [2])
        #expect(machine.nextWrite()?.state == ["trip": [2], "commands": [1]])
    }

    @Test func rejectedValuesAreTriedOnceMoreAtTheEnd() throws {
        var machine = LogStateMachine()
        machine.set("trip", [1])
        machine.didWrite(try #require(machine.nextWrite()), isWritten: false)
        machine.willEnd()
        #expect(machine.nextWrite()?.state == ["trip": [1]])
    }

    @Test func removalsWaitUntilTheyAreManyOrASecondOld() throws {
        var machine = LogStateMachine()
        #expect(!machine.areRemovalsDue(now: self.start))
        machine.remove(SeqSet([1...10]), of: try self.place(), now: self.start)
        machine.remove(SeqSet([11...20]), of: try self.place(), now: self.after(0.9))
        #expect(!machine.areRemovalsDue(now: self.after(0.9)))
        #expect(machine.areRemovalsDue(now: self.after(1)))
        let answer1 = machine.takeRemovals()
        #expect(answer1 == [try self.place(): SeqSet([1...20])])
        #expect(!machine.areRemovalsDue(now: self.after(9)))
        let answer2 = machine.takeRemovals()
        #expect(answer2.isEmpty)
        let many = UInt64(LogStateMachine.removalsAtOnce)
        machine.remove(SeqSet([1...many]), of: try self.place(), now: self.start)
        #expect(machine.areRemovalsDue(now: self.start))
    }

    @Test func recordsWaitAMinuteForAClosedLogAndAreGivenUpThen() throws {
        var machine = LogStateMachine()
        machine.append(try self.entry(1))
        let answer3 = machine.mayReopen(now: self.start)
        #expect(answer3)
        let answer4 = machine.didFailToReopen(self.damage, now: self.start)
        #expect(answer4, "the error is new")
        #expect(machine.nextWrite() == nil)
        let answer5 = machine.mayReopen(now: self.after(9))
        #expect(!answer5)
        let answer6 = machine.mayReopen(now: self.after(10))
        #expect(answer6)
        let answer7 = machine.didFailToReopen(self.damage, now: self.after(10))
        #expect(!answer7, "the error is not new")
        let answer8 = machine.giveUp(now: self.after(59))
        #expect(answer8?.entries == [])
        let answer9 = machine.giveUp(now: self.after(60))
        #expect(answer9?.entries.map(\.record.seq) == [1])
        #expect(machine.entries.isEmpty)
    }

    @Test func aLogThatOpensAgainGetsTheRecordsThatWaited() throws {
        var machine = LogStateMachine()
        machine.append(try self.entry(1))
        machine.remove(SeqSet([7...7]), of: try self.place(), now: self.start)
        _ = machine.didFailToReopen(self.damage, now: self.start)
        let answer10 = machine.takeRemovals()
        #expect(answer10.isEmpty, "nothing is removed from a closed log")
        machine.didReopen()
        let answer11 = machine.giveUp(now: self.after(90))
        #expect(answer11 == nil)
        #expect(machine.nextWrite()?.entries.map(\.record.seq) == [1])
        let answer12 = machine.takeRemovals()
        #expect(answer12 == [try self.place(): SeqSet([7...7])])
    }

    @Test func aClosedLogKeepsAsMuchAsItsMemoryAllows() throws {
        var machine = LogStateMachine()
        for seq in 1...3 { machine.append(try self.entry(UInt64(seq), bytes: LogOutage.maximumBytes / 2 - 200)) }
        _ = machine.didFailToReopen(self.damage, now: self.start)
        let answer13 = machine.giveUp(now: self.start)
        #expect(answer13?.entries.map(\.record.seq) == [3])
        let answer14 = machine.giveUp(all: true, now: self.start)
        #expect(answer14?.entries.map(\.record.seq) == [1, 2])
    }

    @Test func theWorkerWakesOnceForEachAlarm() throws {
        var machine = LogStateMachine()
        let answer15 = machine.takeAlarms(now: self.start)
        #expect(answer15 == [])
        _ = machine.didFailToReopen(self.damage, now: self.start)
        let answer16 = machine.takeAlarms(now: self.start)
        #expect(answer16 == [self.after(10)])
        let answer17 = machine.takeAlarms(now: self.start)
        #expect(answer17 == [])
        machine.didReopen()
        let limits = SpoolLimits(maximumAge: .seconds(100))
        let answer18 = machine.trimIfDue(limits, grew: false, knowsAges: { true }, now: self.start)
        #expect(answer18 == limits)
        let answer19 = machine.takeAlarms(now: self.start)
        #expect(answer19 == [self.after(10)], "ages are checked after a tenth of the age")
        let answer20 = machine.trimIfDue(limits, grew: false, knowsAges: { true }, now: self.after(9))
        #expect(answer20 == nil)
    }

    @Test func noRecordIsDroppedForItsAgeWhileTheClockIsNotTrusted() throws {
        var machine = LogStateMachine()
        let limits = SpoolLimits(maximumCount: 5, maximumAge: .seconds(100))
        let due = machine.trimIfDue(limits, grew: true, knowsAges: { false }, now: self.start)
        #expect(due == SpoolLimits(maximumCount: 5))
    }

    @Test func aLookUpMovesToTheFrontButNotBeforeAMarkedRecordOfItsTrackable() throws {
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let stream = try #require(StreamID("one"))
        let digest = try #require(RecordDigest([UInt8](repeating: 1, count: RecordDigest.size)))
        let mark = RecordMark(time: UnixTime(1), digest: digest)
        let record = try self.entry(1).record
        let jobs: [LogWorker.Job] = [
            .action(van, .append(stream, record, mark: mark)), .action(van, .find([mark])), .action(bus, .find([mark])),
        ]
        let names = LogStateMachine.findingFirst(jobs).map { job in
            switch job {
            case .action(let id, .find): "find \(id)"
            case .action(let id, .append): "append \(id)"
            default: "other"
            }
        }
        #expect(names == ["find bus", "append van", "find van"])
    }
}
