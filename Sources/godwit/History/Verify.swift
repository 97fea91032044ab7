import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingStore

/// `godwit verify`: reports which records of a trackable are stored in the history and which are missing.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Report which records of a trackable are stored, and which are missing.",
        discussion: """
            For each stream, the report lists the ranges of record numbers with their states, and counts records that \
            came again or had a wrong clock. Exit code 1: records are missing although the device did not declare them \
            as gone, or nothing is stored of the trackable.

            Example:
              godwit verify van-7
            """)

    @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @Option(help: ArgumentHelp("Print text, or json: one object.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func run() async throws {
        let report = try await self.store.use { store in
            guard let report = try await store.verify(self.id), report.isAboutRecords else {
                try await nothingIsStored(of: self.id, in: store)
            }
            return report
        }
        let printer = VerifyPrinter(id: self.id, report: report)
        let file = try OutputFile(nil)
        try file.write(Array((self.format == .text ? printer.text : printer.json).utf8))
        try file.finish()
        if !report.isComplete { throw ExitCode(1) }
    }
}

extension VerifyReport {
    /// `false` if the history has only states of the trackable, as after `godwit watch` with a misspelt id, so that
    /// there is nothing that could be complete.
    fileprivate var isAboutRecords: Bool { self.points > 0 || !self.streams.isEmpty || self.erasedBefore != nil }
}

/// Converts a report about a trackable's stored and missing records to text for people or to JSON.
struct VerifyPrinter {
    let id: TrackableID
    let report: VerifyReport

    /// The report on stored and missing records as text for people.
    var text: String {
        var lines = ["\(self.id.rawValue.printable): \(counted(self.report.points, "point"))"]
        if self.report.unnumbered > 0 { lines[0] += ", \(self.report.unnumbered) of them without a stream" }
        if self.report.unnumberedClockFaults > 0 {
            lines[0] += ", \(self.report.unnumberedClockFaults) of these with a wrong clock"
        }
        if let before = self.report.erasedBefore {
            lines.append("erased before \(TimeText.rfc3339(before)): older records are discarded")
        }
        for time in self.report.possibleGaps {
            lines.append(
                "possible gap before \(TimeText.rfc3339(time)): the broker had no session of the recorder")
        }
        for stream in self.report.streams {
            var facts: [String] = []
            if stream.duplicates > 0 { facts.append("\(stream.duplicates) received again") }
            if stream.clockFaults > 0 { facts.append("\(stream.clockFaults) with a wrong clock") }
            if let end = stream.coverage.end { facts.append("ends with record \(end)") }
            lines.append(
                "stream \(stream.id.rawValue.printable)" + (facts.isEmpty ? "" : ": " + facts.joined(separator: ", ")))
            for (seqs, what) in Self.rows(stream) { lines.append("  \(Self.text(seqs))  \(what)") }
        }
        let missing = self.report.streams.reduce(0) { $0 + $1.undeclaredGaps.count }
        lines.append(missing == 0 ? "complete" : "\(counted(missing, "undeclared gap"))")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The report on stored and missing records as one JSON object for programs, with its line end.
    var json: String {
        var members: [String: JSONValue] = [
            "trackable": .text(self.id.rawValue), "points": .number(Double(self.report.points)),
            "unnumbered": .number(Double(self.report.unnumbered)),
            "unnumberedClockFaults": .number(Double(self.report.unnumberedClockFaults)),
            "complete": .flag(self.report.isComplete),
            "streams": .list(self.report.streams.map(Self.json)),
            "possibleGaps": .list(self.report.possibleGaps.map { .number($0.seconds) }),
        ]
        members["erasedBefore"] = self.report.erasedBefore.map { .number($0.seconds) }
        return String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n"
    }

    private static func json(_ stream: VerifyReport.StreamReport) -> JSONValue {
        let ranges = self.rows(stream).map { seqs, what -> JSONValue in
            .object([
                "first": .number(Double(seqs.lowerBound)), "last": .number(Double(seqs.upperBound)),
                "mark": .text(what),
            ])
        }
        var members: [String: JSONValue] = [
            "stream": .text(stream.id.rawValue), "duplicates": .number(Double(stream.duplicates)),
            "clockFaults": .number(Double(stream.clockFaults)), "ranges": .list(ranges),
        ]
        members["end"] = stream.coverage.end.map { .number(Double($0)) }
        return .object(members)
    }

    /// Returns the ranges of a stream's record numbers, each with its state, in order. Numbers without a known state
    /// are reported as `missing`.
    private static func rows(_ stream: VerifyReport.StreamReport) -> [(ClosedRange<UInt64>, String)] {
        let known = stream.coverage.ranges.map { ($0.seqs, Self.word($0.mark)) }
        return (known + stream.undeclaredGaps.map { ($0, "missing") }).sorted { $0.0.lowerBound < $1.0.lowerBound }
    }

    /// Returns the word for the state of a range of record numbers, such as `stored`, `gone` or `erased`. The view
    /// `streams` of the database uses the same words.
    private static func word(_ mark: StreamCoverage.Mark) -> String {
        switch mark {
        case .erased: "erased"
        case .stored: "stored"
        case .refused: "refused"
        case .gone: "gone"
        case .belowOldest: "below oldest"
        }
    }

    private static func text(_ seqs: ClosedRange<UInt64>) -> String {
        seqs.lowerBound == seqs.upperBound ? "\(seqs.lowerBound)" : "\(seqs.lowerBound)–\(seqs.upperBound)"
    }
}
