import TrackingCore

/// A column of a table for people: its name, and the rules by which it fits into a terminal.
public struct TextColumn: Hashable, Sendable {
    /// The side of a column at which the texts of its cells are aligned.
    public enum Side: Sendable {
        case left, right
    }

    /// The name of the column in the first line of the table.
    let name: String
    let side: Side
    /// The least number of terminal columns that the column takes.
    let width: Int
    /// The place of the column in the order of omission. If a table is too wide, the column with the number 1 is left
    /// out first, then the one with 2. `nil` for a column that is never left out.
    let omission: Int?
    /// The number of terminal columns to which a cell of the column may be cut, before another column is omitted. `nil`
    /// for a column whose cells are never cut, such as numbers.
    let cut: Int?

    /// Returns a column of names, which may be cut.
    ///
    /// - Parameters:
    ///   - name: The name of the column.
    ///   - cut: The number of terminal columns to which a name may be cut, before another column is omitted.
    ///   - width: The least number of terminal columns that the column takes, unless it is cut.
    ///   - omission: The place of the column in the order of omission, 1 for the first one; `nil` if the column always
    ///     remains.
    public static func text(_ name: String, cutTo cut: Int, width: Int = 0, omission: Int? = nil) -> TextColumn {
        TextColumn(name: name, side: .left, width: width, omission: omission, cut: cut)
    }

    /// Returns a column of numbers, times or positions, which are never cut.
    ///
    /// - Parameters:
    ///   - name: The name of the column.
    ///   - side: The side at which the cells are aligned.
    ///   - width: The least number of terminal columns that the column takes.
    ///   - omission: The place of the column in the order of omission, 1 for the first one; `nil` if the column always
    ///     remains.
    public static func value(
        _ name: String, _ side: Side = .right, width: Int = 0, omission: Int? = nil
    ) -> TextColumn {
        TextColumn(name: name, side: side, width: width, omission: omission, cut: nil)
    }
}

/// The widths of a table's columns, and the columns that remain if the table is too wide.
///
/// Columns are separated by two spaces. The columns with the lowest ``TextColumn/omission`` are omitted until the rest,
/// with its names cut, fits into the limit. Then the widest names are cut, and end with "…". A number is never cut: if
/// the remaining numbers are wider than the limit, the line is wider too.
public struct TextLayout: Hashable, Sendable {
    private struct Place: Hashable, Sendable {
        /// The index of the column in the complete table, from 0. A row's cell for the column has the same index.
        var index: Int
        var column: TextColumn
        var width: Int

        /// The width to which the column may be narrowed before other columns are omitted. A column whose cells are
        /// never cut keeps its whole width.
        var leastWidth: Int { self.column.cut.map { min($0, self.width) } ?? self.width }
    }

    private var places: [Place]
    private static let separator = "  "

    /// Creates the layout of a table whose columns have fixed widths.
    ///
    /// - Parameters:
    ///   - columns: The columns of the table.
    ///   - limit: The largest width of a line, in terminal columns; `nil` for no limit.
    public init(_ columns: [TextColumn], limit: Int?) {
        self.init(columns, widths: columns.map(\.width), limit: limit)
    }

    /// Creates the layout of a table from the widths of its columns. A column gets at least the width of its name. If
    /// the table is then wider than `limit`, columns are omitted or narrowed.
    init(_ columns: [TextColumn], widths: [Int], limit: Int?) {
        self.places = zip(columns, widths).enumerated().map { index, pair in
            Place(index: index, column: pair.0, width: max(pair.1, pair.0.width, pair.0.name.columns))
        }
        if let limit { self.fit(into: limit) }
    }

    private static func total(_ widths: [Int]) -> Int {
        widths.reduce(0, +) + max(0, widths.count - 1) * self.separator.count
    }

    private mutating func fit(into limit: Int) {
        let order = self.places.filter { $0.column.omission != nil }.sorted {
            $0.column.omission ?? 0 < $1.column.omission ?? 0
        }
        for place in order where Self.total(self.places.map(\.leastWidth)) > limit {
            self.places.removeAll { $0.index == place.index }
        }
        let isTight = Self.total(self.places.map(\.leastWidth)) > limit
        var excess = Self.total(self.places.map(\.width)) - limit
        while excess > 0 {
            let able = self.places.indices.filter { index in
                let place = self.places[index]
                return place.column.cut != nil && place.width > (isTight ? 1 : place.leastWidth)
            }
            guard let widest = able.max(by: { self.places[$0].width < self.places[$1].width }) else { return }
            self.places[widest].width -= 1
            excess -= 1
        }
    }

    /// The first line of the table: the names of the columns that remain, without a line end.
    public var header: String {
        var names = [String](repeating: "", count: (self.places.map(\.index).max() ?? -1) + 1)
        for place in self.places { names[place.index] = place.column.name }
        return self.line(names)
    }

    /// Returns a row of the table as one line of text, without a line end. Control characters are escaped.
    ///
    /// - Parameter cells: The cells of the row, one for each column of the complete table.
    public func line(_ cells: [String]) -> String {
        var line = ""
        for (number, place) in self.places.enumerated() {
            let cell = Self.fitted(cells[place.index].printable, place)
            let padding = String(repeating: " ", count: max(0, place.width - cell.columns))
            if number > 0 { line += Self.separator }
            switch place.column.side {
            case .right: line += padding + cell
            case .left: line += number == self.places.count - 1 ? cell : cell + padding
            }
        }
        return line
    }

    private static func fitted(_ cell: String, _ place: Place) -> String {
        guard place.column.cut != nil, cell.columns > place.width else { return cell }
        return cell.prefix(columns: place.width - 1) + "…"
    }
}

/// A table for people: a line with the names of the columns, and a line for each row. Each column is as wide as its
/// widest cell or its name, unless the table must be narrower.
public struct TextTable: Sendable {
    /// The text for a cell of a table that has no value.
    public static let none = "–"

    private let columns: [TextColumn]
    private var rows: [[String]] = []

    /// Creates a table with these columns and without rows.
    public init(_ columns: [TextColumn]) { self.columns = columns }

    /// Appends a row to the table. The row has one cell for each column.
    public mutating func append(_ cells: [String]) { self.rows.append(cells) }

    /// Returns the table as text, with a line end after each line. The text of a table without rows is empty.
    ///
    /// - Parameter limit: The largest width of a line, as ``Terminal/tableWidth`` returns it; `nil` for no limit.
    public func text(limit: Int?) -> String {
        guard !self.rows.isEmpty else { return "" }
        let widths = self.columns.indices.map { column in
            self.rows.reduce(0) { max($0, $1[column].printable.columns) }
        }
        let layout = TextLayout(self.columns, widths: widths, limit: limit)
        return ([layout.header] + self.rows.map(layout.line)).map { $0 + "\n" }.joined()
    }
}

extension Terminal {
    /// The largest width of a table on standard output: the width of the terminal; `nil` if standard output is not a
    /// terminal, so that the table is complete.
    public static var tableWidth: Int? { self.isOutput ? self.size.width : nil }
}
