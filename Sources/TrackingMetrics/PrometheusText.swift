/// Writes metric names, labels and numbers in the syntax of Prometheus' text format.
enum PrometheusText {
    /// Returns a metric name that Prometheus accepts (`[a-zA-Z_:][a-zA-Z0-9_:]*`): `_` replaces each other character,
    /// and precedes a digit at the beginning.
    static func name(_ text: String) -> String { self.word(text, allowsColon: true) }

    /// Returns labels as `{name="value",…}`, sorted by label name; an empty text for no labels. Each value is cut to
    /// about 100 bytes.
    static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        let pairs = dimensions.map { (self.word($0.0, allowsColon: false), self.value($0.1)) }.sorted { $0.0 < $1.0 }
        return "{" + pairs.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",") + "}"
    }

    /// Returns a metric's value as text for Prometheus. A whole number has no decimal point. A value that is not finite
    /// becomes `NaN`, `+Inf` or `-Inf`.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { String($0) } ?? String(value)
    }

    private static func word(_ text: String, allowsColon: Bool) -> String {
        let word = String(
            text.unicodeScalars.map { scalar -> Character in
                let isFine =
                    scalar.isASCII
                    && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_"
                        || allowsColon && scalar == ":")
                return isFine ? Character(scalar) : "_"
            })
        return word.first.map { $0.isNumber } ?? true ? "_" + word : word
    }

    private static func value(_ text: String) -> String {
        var value = ""
        for scalar in text.unicodeScalars where value.utf8.count < 100 {
            switch scalar {
            case "\\": value += "\\\\"
            case "\"": value += "\\\""
            case "\n": value += "\\n"
            default: value.unicodeScalars.append(scalar)
            }
        }
        return value
    }
}
