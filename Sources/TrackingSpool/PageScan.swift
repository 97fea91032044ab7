/// A value in a row that is read directly from the bytes of an SQLite file.
enum ScannedValue: Hashable {
    case null
    case integer(Int64)
    case number(Double)
    /// A text or a blob in the row, as its bytes.
    case bytes([UInt8])

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    var text: String? { self.bytes.flatMap { String(validating: $0, as: UTF8.self) } }
    /// The value of a row's column as a number; `nil` for NULL, texts and blobs. SQLite stores a number without a
    /// fraction as an integer.
    var number: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        case .null, .bytes: nil
        }
    }
}

/// Reads the rows of one page of a possibly damaged SQLite file (<https://www.sqlite.org/fileformat2.html>). Whatever
/// the page's bytes are, nothing outside of the page is read. Parts that are not valid are skipped.
struct PageScan {
    let page: [UInt8]
    /// A function that returns the content of another page by its number, for rows that are larger than this page;
    /// `nil` if that page does not exist.
    let overflow: (UInt32) -> [UInt8]?

    /// The maximum number of bytes of a row that is read: 4 MiB. Longer rows are skipped.
    private static let longestRow = 4 << 20
    private static let mostColumns = 16

    /// Calls `body` with the row id and the columns of each row of the page that can be read.
    ///
    /// - Returns: `true` if a row continues on other pages.
    func eachRow(_ body: (Int64, [ScannedValue]) throws -> Void) rethrows -> Bool {
        guard self.page.count == SpoolSchema.pageSize else { return false }
        let count = min(self.big(at: 3, bytes: 2), (self.page.count - 8) / 2)
        var hasOverflow = false
        for cell in 0..<Int(count) {
            guard let (place, payload, isOverflowing) = self.payload(at: Int(self.big(at: 8 + 2 * cell, bytes: 2)))
            else { continue }
            hasOverflow = hasOverflow || isOverflowing
            if let payload, let columns = Self.columns(payload) { try body(place, columns) }
        }
        return hasOverflow
    }

    private func big(at start: Int, bytes: Int) -> Int {
        var (value, place) = (0, start)
        while place < start + bytes {
            value = value << 8 | Int(self.page[place])
            place += 1
        }
        return value
    }

    private func payload(at start: Int) -> (place: Int64, bytes: [UInt8]?, isOverflowing: Bool)? {
        guard start >= 8, start < self.page.count else { return nil }
        var cursor = start
        guard let size = Self.variableInteger(self.page, &cursor), size > 1, size <= Int64(Self.longestRow),
            let place = Self.variableInteger(self.page, &cursor)
        else { return nil }
        let (total, usable) = (Int(size), self.page.count)
        let most = usable - 35
        guard total > most else {
            guard cursor + total <= usable else { return nil }
            return (place, Array(self.page[cursor..<(cursor + total)]), false)
        }
        let least = (usable - 12) * 32 / 255 - 23
        let wanted = least + (total - least) % (usable - 4)
        let local = wanted <= most ? wanted : least
        guard cursor + local + 4 <= usable else { return nil }
        var payload = Array(self.page[cursor..<(cursor + local)])
        var next = UInt32(self.big(at: cursor + local, bytes: 4))
        while payload.count < total {
            guard next != 0, let page = self.overflow(next), page.count == usable else { return (place, nil, true) }
            payload += page[4...].prefix(total - payload.count)
            next = page.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        return (place, payload, true)
    }

    private static func variableInteger(_ bytes: [UInt8], _ cursor: inout Int) -> Int64? {
        var value: UInt64 = 0
        for place in 0..<9 {
            guard cursor < bytes.count else { return nil }
            let byte = bytes[cursor]
            cursor += 1
            if place == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 { break }
        }
        return Int64(bitPattern: value)
    }

    /// Returns the columns of a row from its bytes, which contain first the types and then the values; `nil` if they
    /// are not valid.
    private static func columns(_ payload: [UInt8]) -> [ScannedValue]? {
        var cursor = 0
        guard let size = self.variableInteger(payload, &cursor), size > 1, size <= Int64(payload.count) else {
            return nil
        }
        var types: [Int64] = []
        while cursor < Int(size) {
            guard types.count < self.mostColumns, let type = self.variableInteger(payload, &cursor) else { return nil }
            types.append(type)
        }
        guard cursor == Int(size) else { return nil }
        var columns: [ScannedValue] = []
        for type in types {
            guard let length = self.length(of: type), length <= payload.count - cursor else { return nil }
            columns.append(self.value(type, payload[cursor..<(cursor + length)]))
            cursor += length
        }
        return columns
    }

    private static func length(of type: Int64) -> Int? {
        switch type {
        case 0, 8, 9: 0
        case 1...4: Int(type)
        case 5: 6
        case 6, 7: 8
        case 12...: Int((type - 12) / 2)
        default: nil
        }
    }

    private static func value(_ type: Int64, _ bytes: ArraySlice<UInt8>) -> ScannedValue {
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 12...: return .bytes(Array(bytes))
        default:
            var value: UInt64 = (bytes.first ?? 0) & 0x80 == 0 ? 0 : .max
            for byte in bytes { value = value << 8 | UInt64(byte) }
            return type == 7 ? .number(Double(bitPattern: value)) : .integer(Int64(bitPattern: value))
        }
    }
}
