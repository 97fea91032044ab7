/// A value in a column of a gateway's database, or a value for a parameter of a statement.
package enum GatewayValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// A type whose values can be stored in a column of a gateway's database.
package protocol GatewayValueConvertible: Sendable {
    /// The value as it is stored in a column.
    var columnValue: GatewayValue { get }

    /// Creates a value from that of a column; `nil` if the column contains NULL or a value of another type.
    init?(columnValue: GatewayValue)
}

extension GatewayValueConvertible {
    /// Returns the first column of all rows of a query. NULL and values of another type are omitted.
    package static func fetchAll(
        _ db: GatewayTransaction, sql: String, arguments: [(any GatewayValueConvertible)?] = []
    ) throws -> [Self] {
        try GatewayRow.fetchAll(db, sql: sql, arguments: arguments).compactMap { $0[0] }
    }

    /// Returns the first column of the first row of a query; `nil` if there is no row, or if the column contains NULL.
    package static func fetchOne(
        _ db: GatewayTransaction, sql: String, arguments: [(any GatewayValueConvertible)?] = []
    ) throws -> Self? {
        try GatewayRow.fetchOne(db, sql: sql, arguments: arguments)?[0]
    }
}

extension Int64: GatewayValueConvertible {
    package var columnValue: GatewayValue { .integer(self) }

    package init?(columnValue: GatewayValue) {
        guard case .integer(let value) = columnValue else { return nil }
        self = value
    }
}

extension Int: GatewayValueConvertible {
    package var columnValue: GatewayValue { .integer(Int64(self)) }

    package init?(columnValue: GatewayValue) {
        guard case .integer(let value) = columnValue else { return nil }
        self.init(exactly: value)
    }
}

/// A Boolean value is stored as the integer 0 or 1.
extension Bool: GatewayValueConvertible {
    package var columnValue: GatewayValue { .integer(self ? 1 : 0) }

    package init?(columnValue: GatewayValue) {
        guard case .integer(let value) = columnValue else { return nil }
        self = value != 0
    }
}

extension Double: GatewayValueConvertible {
    package var columnValue: GatewayValue { .real(self) }

    package init?(columnValue: GatewayValue) {
        switch columnValue {
        case .real(let value): self = value
        case .integer(let value): self = Double(value)
        default: return nil
        }
    }
}

extension String: GatewayValueConvertible {
    package var columnValue: GatewayValue { .text(self) }

    package init?(columnValue: GatewayValue) {
        guard case .text(let value) = columnValue else { return nil }
        self = value
    }
}

extension [UInt8]: GatewayValueConvertible {
    package var columnValue: GatewayValue { .bytes(self) }

    package init?(columnValue: GatewayValue) {
        guard case .bytes(let value) = columnValue else { return nil }
        self = value
    }
}

/// A row that a query of a gateway's database returned.
package struct GatewayRow: Sendable {
    /// The names of the columns in lower case, in the order of the query.
    let names: [String]
    let values: [GatewayValue]

    /// Creates a row from the names of its columns, in lower case, and their values in the same order.
    package init(names: [String], values: [GatewayValue]) {
        self.names = names
        self.values = values
    }

    /// Returns all rows of a query.
    package static func fetchAll(
        _ db: GatewayTransaction, sql: String, arguments: [(any GatewayValueConvertible)?] = []
    ) throws -> [GatewayRow] {
        try db.rows(sql: sql, arguments: arguments)
    }

    /// Returns the first row of a query; `nil` if there is none.
    package static func fetchOne(
        _ db: GatewayTransaction, sql: String, arguments: [(any GatewayValueConvertible)?] = []
    ) throws -> GatewayRow? {
        try db.rows(sql: sql, arguments: arguments).first
    }

    /// Returns the value of a column that is declared as NOT NULL, by its place from 0. The program ends if the column
    /// contains NULL or a value of another type, which the declarations of the tables exclude.
    package subscript<Value: GatewayValueConvertible>(place: Int) -> Value {
        guard let value = Value(columnValue: self.values[place]) else {
            preconditionFailure("the column \(self.names[place]) contains no \(Value.self)")
        }
        return value
    }

    /// Returns the value of a column, by its place from 0; `nil` for NULL.
    package subscript<Value: GatewayValueConvertible>(place: Int) -> Value? { Value(columnValue: self.values[place]) }

    /// Returns the value of a column that is declared as NOT NULL, by its name. The program ends if the column contains
    /// NULL or a value of another type, which the declarations of the tables exclude.
    package subscript<Value: GatewayValueConvertible>(name: String) -> Value { self[self.place(of: name)] }

    /// Returns the value of a column, by its name; `nil` for NULL.
    package subscript<Value: GatewayValueConvertible>(name: String) -> Value? { self[self.place(of: name)] }

    private func place(of name: String) -> Int {
        guard let place = self.names.firstIndex(of: name.lowercased()) else {
            preconditionFailure("the query returns no column \(name)")
        }
        return place
    }
}
