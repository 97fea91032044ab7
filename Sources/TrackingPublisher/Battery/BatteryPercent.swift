import TrackingCore

/// Parses texts that state a battery's charge as a percentage, such as `85` or `85 %`.
enum BatteryPercent {
    /// Returns the battery percentage in a text: a plain number from 0 to 100, with optional white space and an
    /// optional percent sign. `nil` for other text.
    static func parse(_ text: some Sequence<UInt8>) -> Double? {
        var bytes = Array(text)[...]
        bytes = bytes.drop(while: XMLTagReader.isSpace)
        while let last = bytes.last, XMLTagReader.isSpace(last) || last == UInt8(ascii: "%") { bytes.removeLast() }
        guard let percent = NMEAField(bytes).number, (0...100).contains(percent) else { return nil }
        return percent
    }
}
