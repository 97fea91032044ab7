import Testing
import TrackingCore
import TrackingTesting

/// The contract of every log, in a file and in memory.
@Suite struct SpoolConformanceTests {
    @Test(arguments: SpoolSubject.allCases) func appendedRecordsAreRead(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            #expect(try await log.storage.open(now: start) == SpoolContents())
            try await log.storage.append(try entries(1...3))
            try await log.storage.append(try entries(4...9))
            let reading = try await log.storage.readAll("one", 1...9)
            #expect(reading == SpoolReading(records: SpoolRecords((1...9).map { record($0) })))
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aReadingRespectsItsLimits(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...9))
            let one = try stream("one")
            try await log.storage.remove(numbers(3...4), of: one)
            let some = try await log.storage.read(one, numbers(2...9), maximumCount: 3, maximumBytes: .max)
            #expect(some.records.map(\.seq) == [2, 5, 6])
            #expect(some.missing == numbers(3...4), "what comes behind the last one read is not missing")
            let few = try await log.storage.read(one, numbers(2...2, 5...9), maximumCount: 9, maximumBytes: 399)
            #expect(few.records.map(\.seq) == [2, 5, 6])
            #expect(few.missing.isEmpty)
            let first = try await log.storage.read(one, numbers(7...9), maximumCount: 9, maximumBytes: 1)
            #expect(first.records.map(\.seq) == [7], "at least one, however large")
            let none = try await log.storage.read(one, numbers(20...22), maximumCount: 9, maximumBytes: 1)
            #expect(none == SpoolReading(missing: numbers(20...22)))
            let unknown = try await log.storage.readAll("other", 1...2)
            #expect(unknown == SpoolReading(missing: numbers(1...2)))
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aStreamSurvivesAnOrderlyRestart(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...9))
            try await log.storage.remove(numbers(1...2, 5...5, 9...9), of: try stream("one"))
            try await log.storage.close()
            let contents = try await log.storage.open(now: start)
            let stored = StoredStream(id: try stream("one"), stored: numbers(3...4, 6...8), last: 9)
            let van = SpoolContents.Trackable(streams: [stored], current: try stream("one"))
            #expect(contents == SpoolContents(trackables: [try TrackableID("van"): van]))
        }
    }

    @Test(arguments: SpoolSubject.allCases) func withoutAnOrderlyEndAStreamEnds(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...9))
            try await log.storage.append(try entries(1...2, of: "bus", in: "two"))
            let again = try await log.afterCrash()
            let contents = try await again.open(now: start)
            let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
            #expect(contents.trackables[van]?.current == nil)
            #expect(contents.trackables[bus]?.current == nil)
            #expect(contents.trackables[van]?.streams.map(\.stored) == [numbers(1...9)])

            try await again.append(try entries(1...1, in: "three"))
            try await again.close()
            let last = try await again.open(now: start)
            #expect(last.trackables[van]?.streams.map(\.id.rawValue) == ["one", "three"], "oldest first")
            #expect(last.trackables[van]?.current?.rawValue == "three")
            try await again.close()
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aNewStreamEndsTheOneBefore(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...2, in: "one"))
            try await log.storage.append(try entries(1...2, of: "bus", in: "two"))
            try await log.storage.append(try entries(1...2, in: "three"))
            try await log.storage.close()
            let contents = try await log.storage.open(now: start)
            #expect(contents.trackables[try TrackableID("van")]?.current?.rawValue == "three")
            #expect(contents.trackables[try TrackableID("bus")]?.current?.rawValue == "two")
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aNumberIsWrittenOnce(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...3))
            let error = await #expect(throws: TrackingError.self) {
                try await log.storage.append(try entries(3...5))
            }
            #expect(error?.code == .spoolFailed)
            #expect(try await log.storage.readAll("one", 1...5).missing == numbers(4...5), "all or nothing")
            try await log.storage.close()
            let van = try await log.storage.open(now: start).trackables[try TrackableID("van")]
            #expect(van?.streams.map(\.last) == [5], "a number that could not be written counts as given out")
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aForgottenStreamIsGone(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...3))
            try await log.storage.append(try entries(1...3, in: "two"))
            try await log.storage.forget(try stream("one"))
            #expect(try await log.storage.summary().total.count == 6, "nothing is forgotten that has records")
            try await log.storage.remove(numbers(1...3), of: try stream("one"))
            try await log.storage.forget(try stream("one"))
            #expect(try await log.storage.readAll("one", 1...3).records.isEmpty)
            #expect(try await log.storage.summary().total.count == 3)
            try await log.storage.close()
            let contents = try await log.storage.open(now: start)
            #expect(contents.trackables[try TrackableID("van")]?.streams.map(\.id.rawValue) == ["two"])
        }
    }

    @Test(arguments: SpoolSubject.allCases) func valuesAreKept(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...1), state: ["trip": [1, 2], "seen": [], "other": [9]])
            try await log.storage.append([], state: ["trip": [3], "other": nil])
            let again = try await log.afterCrash()
            #expect(try await again.open(now: start).state == ["trip": [3], "seen": []])
            try await again.close()
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aRecordIsKnownByItsMark(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try marked(1...3), state: [:], now: start)
            try await log.storage.append(try entries(4...4))
            let one = try stream("one")
            #expect(
                try await log.storage.known(try [mark(2), mark(9), mark(1)], of: van) == [
                    try mark(1): RecordName(stream: one, seq: 1), try mark(2): RecordName(stream: one, seq: 2),
                ])
            #expect(try await log.storage.known([try mark(1)], of: bus).isEmpty, "each trackable has its own")
            #expect(try await log.storage.readAll("one", 2...2).records == [record(2)])

            try await log.storage.remove(numbers(1...4), of: one)
            try await log.storage.forget(one)
            let again = try await log.afterCrash()
            _ = try await again.open(now: start)
            #expect(try await again.known(try [mark(3)], of: van) == [try mark(3): RecordName(stream: one, seq: 3)])
            try await again.close()
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aFailedAppendIsNotKnown(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try marked(1...3), state: [:], now: start)
            await #expect(throws: TrackingError.self) {
                try await log.storage.append(try marked(4...4) + marked(3...3), state: [:], now: start)
            }
            #expect(try await log.storage.known([try mark(4)], of: try TrackableID("van")).isEmpty)
        }
    }

    /// The acknowledgement of a lost record would make its sender delete it.
    @Test(arguments: SpoolSubject.allCases) func aLostRecordIsNotKnown(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            let (van, all) = (try TrackableID("van"), try (1...5).map { try mark($0) })
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try marked(1...5), state: [:], now: start)
            try await log.storage.remove(numbers(1...1), of: try stream("one"))
            try await log.damage(3)
            #expect(try await log.storage.known(all, of: van).count == 5, "nobody has looked")
            #expect(try await log.storage.readAll("one", 1...5).missing == numbers(1...1, 3...3))
            let known = try await log.storage.known(all, of: van)
            #expect(Set(known.values.map(\.seq)) == [1, 2, 4, 5], "what was removed is safe elsewhere")
            try await log.storage.append(try marked(6...6), state: [:], now: start)
            #expect(try await log.storage.known([try mark(6)], of: van).count == 1)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aMarkIsKeptForNinetyDays(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            let (van, day) = (try TrackableID("van"), Duration.seconds(86_400))
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try marked(1...3), state: [:], now: start)
            try await log.storage.append(try marked(4...4), state: [:], now: start.advanced(by: day * 90))
            #expect(try await log.storage.known([try mark(1)], of: van).count == 1)
            try await log.storage.append(try marked(5...5), state: [:], now: start.advanced(by: day * 92))
            #expect(try await log.storage.known(try [mark(1), mark(3)], of: van).isEmpty)
            #expect(try await log.storage.known(try [mark(4), mark(5)], of: van).count == 2)
        }
    }

    /// According to a clock that jumped ahead by years, all marks have expired.
    @Test(arguments: SpoolSubject.allCases) func noMarkIsRemovedByAnUntrustedClock(
        _ subject: SpoolSubject
    ) async throws {
        try await subject.run { log in
            let (van, all) = (try TrackableID("van"), try (1...4).map { try mark($0) })
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try marked(1...3), state: [:], now: start)
            let ahead = start.advanced(by: .seconds(20 * 365 * 86_400))
            try await log.storage.append(try marked(4...4), state: [:], now: ahead, knowsAges: false)
            #expect(try await log.storage.known(all, of: van).count == 4)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aQuarantinedRecordIsNotPending(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...5))
            let one = try stream("one")
            try await log.storage.quarantine(2, of: one, reason: "too large")
            try await log.storage.quarantine(4, of: one, reason: "forbidden")
            #expect(try await log.storage.readAll("one", 1...5).records.map(\.seq) == [1, 3, 5])
            #expect(try await log.storage.summary().quarantined == 2)
            let first = try await log.storage.quarantined(after: 0, maximumCount: 1)
            #expect(first.map(\.entry.record) == [record(2)])
            #expect(first.map(\.reason) == ["too large"])
            let second = try await log.storage.quarantined(after: first[0].place, maximumCount: 9)
            #expect(second.map(\.entry.record.seq) == [4])

            #expect(try await log.storage.dropQuarantined([second[0].place]) == 1)
            let van = try TrackableID("van")
            let back = PutBackRecord(place: first[0].place, record: record(6))
            try await log.storage.putBack([back], of: van, in: one)
            #expect(try await log.storage.readAll("one", 1...6).records.map(\.seq) == [1, 3, 5, 6])
            #expect(try await log.storage.waiting(after: 0, through: .max, maximumCount: 9).last?.entry.record.seq == 6)
            #expect(try await log.storage.summary().quarantined == 0)
            let again = PutBackRecord(place: first[0].place, record: record(7))
            await #expect(throws: TrackingError.self) { try await log.storage.putBack([again], of: van, in: one) }
            try await log.storage.close()
            let contents = try await log.storage.open(now: start).trackables[van]
            #expect(contents?.streams.map(\.stored) == [numbers(1...1, 3...3, 5...6)])
            #expect(contents?.current == one)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func recordsAreRestoredTogether(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            let (van, one) = (try TrackableID("van"), try stream("one"))
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...3))
            for seq in UInt64(1)...2 { try await log.storage.quarantine(seq, of: one, reason: "too large") }
            let rows = try await log.storage.quarantined(after: 0, maximumCount: 9)
            // The second number is in use.
            let back = zip(rows, [4, 3]).map { PutBackRecord(place: $0.place, record: record($1)) }
            await #expect(throws: TrackingError.self) { try await log.storage.putBack(back, of: van, in: one) }
            #expect(try await log.storage.quarantined(after: 0, maximumCount: 9) == rows)
            #expect(try await log.storage.readAll("one", 1...4).records == [record(3)])
            let crashed = try await log.afterCrash()
            _ = try await crashed.open(now: start)
            #expect(try await crashed.quarantined(after: 0, maximumCount: 9) == rows)
            try await crashed.close()
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aRestoredRecordIsKnownUnderItsNewName(
        _ subject: SpoolSubject
    ) async throws {
        try await subject.run { log in
            let (van, one, two) = (try TrackableID("van"), try stream("one"), try stream("two"))
            _ = try await log.storage.open(now: start)
            var entries = try marked(1...4)
            // The same times and digests for another trackable. One record is known by its digest alone.
            entries += entries.map { entry in
                var other = SpoolEntry(entry.record, of: try! TrackableID("bus"), in: two)  // a name
                other.mark = entry.mark
                return other
            }
            entries[1].mark?.time = UnixTime(0)
            try await log.storage.append(entries, state: [:], now: start)
            for seq in UInt64(2)...3 { try await log.storage.quarantine(seq, of: one, reason: "too large") }
            let rows = try await log.storage.quarantined(after: 0, maximumCount: 9)
            let back = rows.map { PutBackRecord(place: $0.place, record: record($0.entry.record.seq + 10)) }
            try await log.storage.putBack(back, of: van, in: one)
            let marks = entries.prefix(4).compactMap(\.mark)
            let known = try await log.storage.known(marks, of: van)
            #expect(marks.map { known[$0]?.seq } == [1, 12, 13, 4])
            let others = try await log.storage.known(marks, of: try TrackableID("bus"))
            #expect(marks.map { others[$0]?.seq } == [1, nil, 3, 4])
        }
    }

    @Test(arguments: SpoolSubject.allCases) func theOldestRecordsAreDroppedFirst(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...3, in: "one"))
            try await log.storage.append(try entries(1...2, of: "bus", in: "two"))
            try await log.storage.append(try entries(1...5, in: "three"))
            #expect(try await log.storage.summary().total.count == 10)
            #expect(try await log.storage.trim(to: SpoolLimits(maximumCount: 10), now: start).isEmpty)
            let some = try await log.storage.trim(to: SpoolLimits(maximumCount: 6), now: start)
            #expect(Set(some.map(\.stream.rawValue)) == ["one", "two"])
            #expect(some.first { $0.stream.rawValue == "two" }?.seqs == numbers(1...1))
            let more = try await log.storage.trim(to: SpoolLimits(maximumBytes: 499), now: start)
            #expect(Set(more.map(\.stream.rawValue)) == ["two", "three"])
            #expect(try await log.storage.summary().total.count == 4)
            #expect(try await log.storage.summary().dropped == 6)
            // The records 2…5 remain, a second apart.
            let limits = SpoolLimits(maximumAge: .seconds(60))
            let old = try await log.storage.trim(to: limits, now: UnixTime(start.seconds + 63.5))
            #expect(old.map(\.seqs) == [numbers(2...3)])
        }
    }

    @Test(arguments: SpoolSubject.allCases) func theSummaryCountsByTrackableAndKind(_ subject: SpoolSubject)
        async throws
    {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            // Of three records in a row one is a point, one a trip and one an event: see `record(_:size:)`.
            try await log.storage.append(try entries(5...9, in: "one"))
            try await log.storage.append(try entries(1...1, of: "bus", in: "two"))
            try await log.storage.append(try entries(1...3, in: "three"))
            try await log.storage.remove(numbers(5...5), of: try stream("one"))
            let summary = try await log.storage.summary()
            #expect(
                summary.trackables[try TrackableID("van")]
                    == SpoolAmount(points: 3, trips: 2, events: 2, bytes: 700, oldest: record(6).time))
            #expect(
                summary.trackables[try TrackableID("bus")]
                    == SpoolAmount(trips: 1, bytes: 100, oldest: record(1).time))
            #expect(summary.total.count == 8)
            #expect(summary.total.oldest == record(1).time)
            try await log.storage.remove(numbers(1...1), of: try stream("two"))
            #expect(try await log.storage.summary().trackables[try TrackableID("bus")] == nil)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func pendingRecordsAreReadInPagesInOrderOfArrival(
        _ subject: SpoolSubject
    ) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try entries(1...3, in: "one"))
            try await log.storage.append(try entries(1...2, of: "bus", in: "two"))
            let last = try await log.storage.summary().lastPlace
            try await log.storage.append(try entries(4...4, in: "one"))
            let first = try await log.storage.waiting(after: 0, through: last, maximumCount: 2)
            #expect(first.map(\.entry) == (try entries(1...2, in: "one")))
            try await log.storage.remove(numbers(3...3), of: try stream("one"))
            let second = try await log.storage.waiting(after: first[1].place, through: last, maximumCount: 9)
            #expect(second.map(\.entry) == (try entries(1...2, of: "bus", in: "two")))
        }
    }

    @Test(arguments: SpoolSubject.allCases) func droppedRecordsAreCountedForTheLifeOfTheLog(
        _ subject: SpoolSubject
    ) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            for seqs: ClosedRange<UInt64> in [1...5, 6...9] {
                try await log.storage.append(try entries(seqs))
                _ = try await log.storage.trim(to: SpoolLimits(maximumCount: 2), now: start)
            }
            try await log.storage.close()
            _ = try await log.storage.open(now: start)
            #expect(try await log.storage.summary().dropped == 7)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func aClosedLogStoresNothing(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            let error = await #expect(throws: TrackingError.self) { try await log.storage.append(try entries(1...1)) }
            #expect(error?.code == .stopped)
            try await log.storage.close()
            _ = try await log.storage.open(now: start)
            let second = await #expect(throws: TrackingError.self) { _ = try await log.storage.open(now: start) }
            #expect(second?.code == .spoolFailed)
        }
    }

    @Test(arguments: SpoolSubject.allCases) func manyWritersAtOnceAreAllKept(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seq in UInt64(1)...200 {
                    group.addTask { try await log.storage.append(try entries(seq...seq)) }
                }
                try await group.waitForAll()
            }
            #expect(try await log.storage.readAll("one", 1...200).records.count == 200)
            try await log.storage.close()
            let van = try await log.storage.open(now: start).trackables[try TrackableID("van")]
            #expect(van?.streams.map(\.stored) == [numbers(1...200)])
        }
    }
}
