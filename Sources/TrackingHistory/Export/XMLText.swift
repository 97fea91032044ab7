/// Returns a text as the content of an XML 1.0 element: markup is escaped, and characters that XML does not permit are
/// replaced by U+FFFD.
func xmlText(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
        switch character {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"": escaped += "&quot;"
        case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
        default: escaped.unicodeScalars.append(character)
        }
    }
    return escaped
}
