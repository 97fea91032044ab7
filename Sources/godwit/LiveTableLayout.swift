import GodwitOptions

/// The columns of the live table of `godwit watch` on a terminal of a given width.
///
/// The layout shows a column completely or leaves it out, so that no number is cut. Only texts, such as names, are
/// shortened.
struct LiveTableLayout {
    /// A column of the live table. The cases are in the order of the columns from left to right, which is also the
    /// order of importance. If the terminal is too narrow, the last columns are left out first.
    enum Column: Int, CaseIterable, Comparable {
        case trackable, state, age, speed, resolution, due, eta, road, position, bearing, way, trip

        static func < (first: Column, second: Column) -> Bool { first.rawValue < second.rawValue }

        /// The heading of the column in the live table.
        var title: String {
            switch self {
            case .due: "next due"
            case .way: "to go"
            case .trackable, .state, .age, .speed, .resolution, .eta, .road, .position, .bearing, .trip:
                "\(self)"
            }
        }

        /// The width that the column has even if its cells are narrower, so that a small change of a value does not
        /// move other columns.
        fileprivate var usualWidth: Int {
            switch self {
            case .trackable, .way, .trip: self.title.columns
            case .state: "OFFLINE".columns
            case .age: "59 min".columns
            case .speed: "100.0 km/h".columns
            case .resolution: "BALANCED/30000/0".columns
            case .due: "overdue".columns
            case .eta: "23:59".columns
            case .road: "off the road".columns
            case .position: "-52.66310 -8.62670".columns
            case .bearing: "bearing".columns
            }
        }

        /// The smallest width to which the column is shortened on a narrow terminal; `nil` if the column is never
        /// shortened.
        fileprivate var shortestWidth: Int? { self == .trackable ? 8 : nil }
    }

    /// A cell of the live table. It consists of a value, such as a number, that is never cut, and a text after the
    /// value that may be shortened.
    struct Cell: Equatable {
        let value: String
        let text: String

        init(_ value: String = "", text: String = "") {
            self.value = value
            self.text = text
        }

        fileprivate var isEmpty: Bool { self.value.isEmpty && self.text.isEmpty }
        /// The number of terminal columns for the text of a cell. A longer text gets more only if the terminal has room
        /// after all columns are placed.
        private static let longestText = 16
        /// The number of terminal columns that the cell takes: `whole` with its complete text, `usual` with a text of
        /// at most 16 columns.
        fileprivate var widths: (whole: Int, usual: Int) {
            let value = self.value.columns
            return (value + self.text.columns, value + min(self.text.columns, Self.longestText))
        }

        /// Returns the cell as a line of text that is exactly `width` terminal columns wide. A text that does not fit
        /// ends with `…`.
        func fitted(to width: Int) -> String {
            let room = width - self.value.columns
            let text =
                self.text.columns <= room
                ? self.text : room < 1 ? "" : "\(self.text.prefix(columns: room - 1))…"
            let whole = String((self.value + text).prefix(columns: width))
            return whole + String(repeating: " ", count: max(0, width - whole.columns))
        }
    }

    /// The columns of the live table that are shown, from left to right, each with its width in terminal columns.
    let columns: [(column: Column, width: Int)]

    /// Chooses the columns of the live table that fit into the terminal, and their widths.
    ///
    /// - Parameters:
    ///   - width: The width of the terminal, in columns.
    ///   - rows: The cells of the visible rows, by column.
    init(width: Int, rows: [[Column: Cell]]) {
        let wanted = Column.allCases.map { column in
            let widths = rows.map { ($0[column] ?? Cell()).widths }
            let usual = max(column.usualWidth, column.title.columns, widths.map(\.usual).max() ?? 0)
            return Wanted(column: column, usual: usual, whole: max(usual, widths.map(\.whole).max() ?? 0))
        }
        // The name is shortened rather than that one of the needed columns is left out.
        let name = wanted[Column.trackable.rawValue]
        var columns = [(column: name.column, width: max(0, min(width, name.smallest)))]
        for one in wanted where one.column > .trackable && one.column <= .due {
            if Self.width(of: columns) + 1 + one.smallest <= width { columns.append((one.column, one.smallest)) }
        }
        Self.widen(&columns, to: wanted.map(\.usual), in: width)
        // The arrival, the road and the way to a destination have a column only while a row has one.
        let absent = Set<Column>([.eta, .road, .way]).filter { column in !rows.contains { $0[column]?.isEmpty == false }
        }
        for one in wanted where one.column > .due && !absent.contains(one.column) {
            guard Self.width(of: columns) + 1 + one.usual <= width else { break }
            columns.append((one.column, one.usual))
        }
        Self.widen(&columns, to: wanted.map(\.whole), in: width)
        self.columns = columns
    }

    /// The widths that a column needs: `usual` if long texts in it are shortened, `whole` if all of its texts are
    /// complete.
    private struct Wanted {
        let column: Column
        let usual: Int
        let whole: Int
        var smallest: Int { min(self.usual, self.column.shortestWidth ?? self.usual) }
    }

    /// Widens the shortened columns as far as the width of the terminal permits. The columns on the left are widened
    /// first.
    ///
    /// - Parameter limits: The largest width of each column, in the order of ``Column``.
    private static func widen(_ columns: inout [(column: Column, width: Int)], to limits: [Int], in width: Int) {
        for index in columns.indices {
            let spare = max(0, width - self.width(of: columns))
            columns[index].width += min(spare, max(0, limits[columns[index].column.rawValue] - columns[index].width))
        }
    }

    private static func width(of columns: [(column: Column, width: Int)]) -> Int {
        columns.reduce(0) { $0 + $1.width } + max(0, columns.count - 1)
    }

    /// The first line of the live table, with the headings of the shown columns.
    var head: String { self.line { Cell(text: $0.title) } }

    /// Returns one row of the live table as a line of text, with the cells of the shown columns.
    func line(_ cells: [Column: Cell]) -> String { self.line { cells[$0] ?? Cell() } }

    private func line(_ cell: (Column) -> Cell) -> String {
        self.columns.map { column, width in cell(column).fitted(to: width) }.joined(separator: " ")
    }
}
