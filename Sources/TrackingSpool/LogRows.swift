import SystemLibrary
import TrackingCore

/// A decoded row of a table in a device's log. The number of columns identifies the table.
enum LogRow {
    case stream(SpoolBook.Stream)
    case record(place: Int64, stream: Int64, SpoolRecord, checksum: UInt64)
    case quarantined(QuarantinedRecord)
    case value(StoredValue)
    case mark(StoredMark)

    /// Decodes the columns of a row; `nil` if they do not belong to a table of a log, or if the row is damaged. The
    /// checksum of a record is returned and not verified, because it depends on the id of the record's stream.
    init?(place: Int64, _ columns: [ScannedValue]) {
        switch columns.count {
        case SpoolSchema.Columns.stream: self.init(streamAt: place, columns)
        case SpoolSchema.Columns.record:
            guard let record = Self.record(columns[2], columns[4...7]), let stream = columns[1].integer,
                columns[3].integer == Int64(record.payload.count), let checksum = columns[8].integer
            else { return nil }
            self = .record(place: place, stream: stream, record, checksum: UInt64(bitPattern: checksum))
        case SpoolSchema.Columns.quarantine:
            guard let record = Self.record(columns[3], columns[4...7]), let text = columns[1].text,
                let trackable = try? TrackableID(text), let stream = columns[2].text.flatMap(StreamID.init),
                let reason = columns[8].text
            else { return nil }
            let row = QuarantinedRecord(
                place: place, entry: SpoolEntry(record, of: trackable, in: stream), reason: reason)
            guard row.checksum == columns[9].integer else { return nil }
            self = .quarantined(row)
        case SpoolSchema.Columns.mark:
            guard let text = columns[1].text, let trackable = try? TrackableID(text), let key = columns[2].bytes,
                let name = columns[3].text.flatMap(RecordName.init), let added = columns[4].integer
            else { return nil }
            let mark = StoredMark(trackable: trackable, key: key, name: name, added: added)
            guard mark.checksum == columns[5].integer else { return nil }
            self = .mark(mark)
        case SpoolSchema.Columns.state:
            guard let name = columns[1].text, let version = columns[3].integer else { return nil }
            let value = StoredValue(name: name, value: columns[2].bytes, version: version)
            guard value.checksum == columns[4].integer else { return nil }
            self = .value(value)
        default: return nil
        }
    }

    private init?(streamAt place: Int64, _ columns: [ScannedValue]) {
        guard let trackable = columns[1].text, let name = columns[2].text, let last = columns[3].integer,
            let floor = columns[4].integer, let ended = columns[5].integer, let checksum = columns[6].integer,
            let stream = SpoolBook.Stream(
                number: place, trackable: trackable, name: name, last: last, floor: floor, ended: ended,
                checksum: checksum)
        else { return nil }
        self = .stream(stream)
    }

    /// Decodes a record from its number and the columns time, kind, trip and payload; `nil` if a column has the wrong
    /// type.
    private static func record(_ seq: ScannedValue, _ rest: ArraySlice<ScannedValue>) -> SpoolRecord? {
        let columns = Array(rest)
        guard let seq = seq.integer, seq > 0, let time = columns[0].number,
            let kind = columns[1].integer.flatMap({ UInt8(exactly: $0) }).flatMap(SpoolRecord.Kind.init),
            let payload = columns[3].bytes
        else { return nil }
        return SpoolRecord(
            seq: UInt64(seq), time: UnixTime(time), kind: kind, tripID: columns[2].text, payload: payload)
    }
}

/// All rows that can be found on the pages of a damaged log's file and of its SQLite write-ahead log. Some are old
/// versions of rows, and some occur twice.
final class LogRows {
    private static let walHeader = 32
    private static let frameHeader = 24

    /// The descriptor of the file; negative if the file cannot be opened.
    private let main: CInt
    /// The descriptor of the write-ahead log; negative if there is none.
    private let ahead: CInt
    private let pages: Int
    private let frames: Int
    /// The last frame of the write-ahead log that contains a page, by the page's number.
    private var frameOfPage: [UInt32: Int] = [:]

    init(path: String) {
        self.main = open(path, O_RDONLY | O_CLOEXEC)
        self.ahead = open(path + "-wal", O_RDONLY | O_CLOEXEC)
        self.pages = Self.size(of: path) / SpoolSchema.pageSize
        self.frames =
            max(0, Self.size(of: path + "-wal") - Self.walHeader) / (Self.frameHeader + SpoolSchema.pageSize)
        for frame in 0..<self.frames {
            guard let number = Self.read(self.ahead, at: Self.offset(of: frame), 4) else { continue }
            self.frameOfPage[number.reduce(0) { $0 << 8 | UInt32($1) }] = frame
        }
    }

    deinit {
        for descriptor in [self.main, self.ahead] where descriptor >= 0 { close(descriptor) }
    }

    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Calls `body` with each row that was found. Of several versions of a row, the newest comes first.
    func forEach(_ body: (LogRow) throws -> Void) throws {
        // The newest pages are read first, because the first of two versions of a row counts.
        for frame in (0..<self.frames).reversed() { try self.scan(self.page(frame: frame), body) }
        for number in 0..<self.pages { try self.scan(self.page(number: UInt32(number + 1)), body) }
    }

    private func scan(_ page: [UInt8]?, _ body: (LogRow) throws -> Void) throws {
        guard let page else { return }
        let isLong = try PageScan(page: page, overflow: { self.newest($0) }).eachRow { place, columns in
            if let row = LogRow(place: place, columns) { try body(row) }
        }
        guard isLong, !self.frameOfPage.isEmpty else { return }
        // The rest of a row in the file may have been overwritten by the write-ahead log since then.
        _ = try PageScan(page: page, overflow: { self.page(number: $0) }).eachRow { place, columns in
            if let row = LogRow(place: place, columns) { try body(row) }
        }
    }

    private func newest(_ number: UInt32) -> [UInt8]? {
        self.frameOfPage[number].flatMap { self.page(frame: $0) } ?? self.page(number: number)
    }

    private func page(number: UInt32) -> [UInt8]? {
        guard number >= 1, number <= self.pages else { return nil }
        return Self.read(self.main, at: Int(number - 1) * SpoolSchema.pageSize, SpoolSchema.pageSize)
    }

    private func page(frame: Int) -> [UInt8]? {
        Self.read(self.ahead, at: Self.offset(of: frame) + Self.frameHeader, SpoolSchema.pageSize)
    }

    private static func offset(of frame: Int) -> Int {
        Self.walHeader + frame * (Self.frameHeader + SpoolSchema.pageSize)
    }

    private static func read(_ descriptor: CInt, at offset: Int, _ count: Int) -> [UInt8]? {
        guard descriptor >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(offset)) }
        return read == count ? bytes : nil
    }
}
