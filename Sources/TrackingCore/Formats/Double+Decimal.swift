extension Double {
    /// Parses a finite decimal number such as `-12.5` or `1e3`. Hexadecimal numbers, infinities and NaN are rejected.
    package init?(decimal text: some StringProtocol) {
        guard text.utf8.allSatisfy(\.isPartOfDecimal), let value = Double(text), value.isFinite else { return nil }
        self = value
    }
}

extension UInt8 {
    fileprivate var isPartOfDecimal: Bool {
        switch UnicodeScalar(self) {
        case "0"..."9", "+", "-", ".", "e", "E": true
        default: false
        }
    }
}
