import TrackingCore

/// Reads CSV with a header line. The columns are found by their names: Godwit's own, or the other common names that
/// ``PointDraft`` knows, such as `lat`.
struct CSVReader: RecordingDecoder {
    private(set) var failure: TrackingError?
    private var cutter = CSVCutter()
    private var columns: [String] = []

    /// The maximum number of columns of a CSV file. A file with more columns is rejected.
    static let maximumColumns = 256

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.failure == nil ? self.events(of: self.cutter.append(bytes)) : []
    }

    mutating func finish() -> [SourceEvent] {
        guard self.failure == nil else { return [] }
        let events = self.events(of: self.cutter.finish())
        if self.columns.isEmpty, self.failure == nil {
            self.failure = TrackingError(.inputUnreadable, "the input is not CSV with a header: it is empty")
        }
        return events
    }

    private mutating func events(of records: [CSVCutter.Record]) -> [SourceEvent] {
        var events: [SourceEvent] = []
        for record in records where self.failure == nil {
            switch record {
            case .tooLong(let line):
                events.append(
                    .badInput(
                        "line \(line): the record exceeds \(CSVCutter.limit) bytes, or a quoted field does not end"))
            case .notUTF8(let line):
                let reason = "line \(line): the text is not UTF-8. Convert the file to UTF-8"
                if self.columns.isEmpty { self.failure = TrackingError(.inputUnreadable, reason) }
                events.append(.badInput(reason))
            case .fields(let fields, _) where self.columns.isEmpty: self.readHeader(fields)
            case .fields(let fields, let line): events.append(self.event(of: fields, line))
            }
        }
        return events
    }

    private mutating func readHeader(_ fields: [String]) {
        let meanings = fields.map { PointDraft.meaning(of: $0) }
        let missing = [("time", PointDraft.Meaning.time), ("latitude", .latitude), ("longitude", .longitude)]
            .filter { !meanings.contains($0.1) }.map(\.0)
        guard missing.isEmpty, fields.count <= Self.maximumColumns else {
            let reason =
                missing.isEmpty
                ? "more than \(Self.maximumColumns) columns" : "no column for " + missing.joined(separator: ", ")
            self.failure = TrackingError(
                .inputUnreadable, "the input is not CSV with a header of known columns: it has \(reason)")
            return
        }
        self.columns = fields
    }

    private func event(of fields: [String], _ line: Int) -> SourceEvent {
        guard fields.count == self.columns.count else {
            return .badInput(
                "line \(line): the line has \(fields.count) fields, but the header has \(self.columns.count)")
        }
        var draft = PointDraft()
        for (name, field) in zip(self.columns, fields) where !field.isEmpty {
            draft.set(name, to: .text(self.cleaned(field, in: name)))
        }
        do throws(BadPoint) {
            return .fix(try draft.location())
        } catch {
            return .badInput("line \(line): \(error.reason)")
        }
    }

    /// Returns a field in the form that its column needs. Numbers and times lose surrounding spaces. In a file with the
    /// separator `;` or tab, a decimal comma becomes a point. Text loses the apostrophe that protects it from being a
    /// formula.
    private func cleaned(_ field: String, in column: String) -> String {
        switch PointDraft.meaning(of: column) {
        case nil, .tripID: return CSVField.unprotected(field)
        case .extra: return field
        default: break
        }
        let bare = field.utf8.first == 0x20 || field.utf8.last == 0x20 ? Self.trimmed(field) : field
        guard self.cutter.separator != UInt8(ascii: ","), bare.utf8.count(where: { $0 == UInt8(ascii: ",") }) == 1
        else { return bare }
        let number = bare.replacing(",", with: ".")
        return Double(decimal: number) == nil ? bare : number
    }

    private static func trimmed(_ field: String) -> String {
        let bytes = field.utf8.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed()
        return String(decoding: bytes, as: UTF8.self)
    }
}
