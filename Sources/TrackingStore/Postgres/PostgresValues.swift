import CPostgres

/// A value for one parameter of an SQL statement, in PostgreSQL's binary form, with the type of the value.
struct PostgresValue {
    var type: Oid
    var bytes: [UInt8]?

    static func int(_ value: Int64?) -> Self { Self(type: 20, bytes: value.map { $0.networkBytes }) }
    static func double(_ value: Double?) -> Self {
        Self(type: 701, bytes: value.map { $0.bitPattern.networkBytes })
    }
    static func text(_ value: String?) -> Self { Self(type: 25, bytes: value.map { Array($0.withoutNUL.utf8) }) }
    static func bytes(_ value: [UInt8]?) -> Self { Self(type: 17, bytes: value) }
    static func ints(_ values: [Int64?]) -> Self { self.array(1016, values.map { .int($0) }, of: 20) }
    static func doubles(_ values: [Double?]) -> Self { self.array(1022, values.map { .double($0) }, of: 701) }
    static func texts(_ values: [String?]) -> Self { self.array(1009, values.map { .text($0) }, of: 25) }
    /// The parameter value NULL of the type "array of texts". Queries use it for "no restriction to certain ids".
    static let noTexts = Self(type: 1009, bytes: nil)
    static func byteStrings(_ values: [[UInt8]?]) -> Self { self.array(1001, values.map { .bytes($0) }, of: 17) }

    private static func array(_ type: Oid, _ values: [PostgresValue], of element: Oid) -> Self {
        var bytes: [UInt8] = []
        // The number of dimensions (0 for an empty array), a flag for NULLs, the type, the length, the first index.
        bytes += Int32(values.isEmpty ? 0 : 1).networkBytes
        bytes += Int32(values.contains { $0.bytes == nil } ? 1 : 0).networkBytes
        bytes += element.networkBytes
        if !values.isEmpty { bytes += Int32(values.count).networkBytes + Int32(1).networkBytes }
        for value in values { bytes.appendField(value.bytes) }
        return Self(type: type, bytes: bytes)
    }
}

extension FixedWidthInteger {
    /// The bytes of the integer in network order, the most significant byte first.
    var networkBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { Array($0) } }
}

extension [UInt8] {
    /// Appends a field in the binary form of rows and arrays: its length (-1 for NULL), then its bytes.
    mutating func appendField(_ bytes: [UInt8]?) {
        guard let bytes else { return self.append(integer: Int32(-1)) }
        self.append(integer: Int32(bytes.count))
        self += bytes
    }

    mutating func appendField(_ value: Double?) {
        guard let value else { return self.append(integer: Int32(-1)) }
        self.append(integer: Int32(8))
        self.append(integer: value.bitPattern)
    }

    mutating func appendField(_ value: Int64?) {
        guard let value else { return self.append(integer: Int32(-1)) }
        self.append(integer: Int32(8))
        self.append(integer: value)
    }

    mutating func append(integer: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: integer.bigEndian) { self.append(contentsOf: $0) }
    }
}

/// The result of an SQL statement in PostgreSQL: the returned rows in binary form, and the number of changed rows.
final class PostgresRows {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(self.pointer) }

    /// The number of rows that the SQL statement returned.
    var count: Int { Int(PQntuples(self.pointer)) }
    /// The number of rows that the statement inserted, changed or deleted.
    var changes: Int { Int(String(cString: PQcmdTuples(self.pointer))) ?? 0 }

    /// The names of the columns, in the order of the result.
    var columns: [String] {
        (0..<PQnfields(self.pointer)).map { PQfname(self.pointer, $0).map { String(cString: $0) } ?? "" }
    }
    /// Returns the type of the values of a column, as PostgreSQL numbers it.
    func type(_ column: Int) -> Oid { PQftype(self.pointer, Int32(column)) }

    func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(self.pointer, Int32(row), Int32(column)) == 1 }

    /// Returns the value of a `bigint` column in one row of the result.
    func integer(_ row: Int, _ column: Int) -> Int64 { Int64(bitPattern: self.word(row, column)) }
    func optionalInteger(_ row: Int, _ column: Int) -> Int64? {
        self.isNull(row, column) ? nil : self.integer(row, column)
    }
    /// Returns the value of a `double precision` column in one row of the result.
    func number(_ row: Int, _ column: Int) -> Double { Double(bitPattern: self.word(row, column)) }
    func optionalNumber(_ row: Int, _ column: Int) -> Double? {
        self.isNull(row, column) ? nil : self.number(row, column)
    }
    /// Returns the value of a `text` column in one row of the result.
    func text(_ row: Int, _ column: Int) -> String { String(decoding: self.raw(row, column), as: UTF8.self) }
    func optionalText(_ row: Int, _ column: Int) -> String? {
        self.isNull(row, column) ? nil : self.text(row, column)
    }
    /// Returns the bytes of a `bytea` or `text` column in one row of the result.
    func bytes(_ row: Int, _ column: Int) -> [UInt8] { Array(self.raw(row, column)) }
    func optionalBytes(_ row: Int, _ column: Int) -> [UInt8]? {
        self.isNull(row, column) ? nil : self.bytes(row, column)
    }

    private func word(_ row: Int, _ column: Int) -> UInt64 {
        let bytes = self.raw(row, column)
        guard bytes.count == 8 else { return bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
        return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    }

    private func raw(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(self.pointer, Int32(row), Int32(column)),
            count: Int(PQgetlength(self.pointer, Int32(row), Int32(column))))
    }
}
