extension Double {
    /// The shortest decimal that parses to this number; `nil` when it is not finite. It has no exponent, which XML's
    /// `decimal` does not permit, and no fraction when the number is an integer.
    var decimal: String? {
        guard self.isFinite else { return nil }
        let text = self.description
        guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]) else {
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        let sign = text.hasPrefix("-") ? "-" : ""
        let parts = text[..<mark].drop { $0 == "-" }.split(separator: ".")
        let fraction = parts.count > 1 && parts[1] != "0" ? parts[1] : ""
        let digits = parts[0] + fraction
        let point = parts[0].count + exponent
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) }
        return sign + digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
