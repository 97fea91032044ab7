/// An incremental XML parser with bounded memory, for the part of XML that GPX needs: elements, attributes and short
/// texts.
///
/// Comments, processing instructions, the document type and long CDATA sections are skipped. Only character references
/// and the five predefined entities are resolved; other entities remain as they are, so nothing is fetched or expanded.
/// Any encoding that extends ASCII is accepted.
struct XMLScanner: Sendable {
    /// An item that the parser returns: the start of an element, its end, or text. Element names have no namespace
    /// prefix.
    enum Event: Hashable, Sendable {
        case start(String, attributes: [String: String])
        case end(String)
        case text(String)
    }

    /// The error that the XML document is malformed: the line and the reason. Parsing cannot continue.
    struct Malformed: Error, Hashable, Sendable {
        var line: Int
        var reason: String
    }

    /// The maximum number of bytes of a tag, and of one piece of text.
    static let limit = 65_536
    /// The maximum nesting depth of XML elements: 64.
    static let maximumDepth = 64

    private var buffer: [UInt8] = []
    private var position = 0
    private var line = 1
    private var open: [String] = []
    private var hasRoot = false
    /// The bytes that end the part of the XML document that is being skipped: `-->` for a comment, `?>` for an
    /// instruction, `]]>` for a long CDATA section. `nil` while none of these is skipped.
    private var skippingTo: [UInt8]?
    /// The progress of skipping the document type declaration (`<!DOCTYPE …>`); `nil` while the parser is not inside
    /// it.
    private var doctype: XMLDoctype?
    /// The name of an element written as a single tag (`<name/>`), of which only the start was returned so far. Its end
    /// is returned next. `nil` for none.
    private var pendingEnd: String?

    /// `true` once the XML document is complete: its root element was closed.
    var isComplete: Bool { self.hasRoot && self.open.isEmpty && self.pendingEnd == nil }

    /// Appends the next bytes of the XML document to the parser's buffer. Nothing is parsed until ``next()`` is called.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        self.buffer.removeFirst(self.position)
        self.position = 0
        self.buffer.append(contentsOf: bytes)
    }

    /// Returns the next item of the document (element start, element end or text); `nil` when more bytes are needed.
    ///
    /// - Throws: `Malformed` when the document is not well-formed, has a tag that is too long, or is nested too deeply.
    mutating func next() throws(Malformed) -> Event? {
        if let name = self.pendingEnd {
            self.pendingEnd = nil
            return .end(name)
        }
        while true {
            if self.skippingTo != nil, !self.skip() { return nil }
            if self.doctype != nil, !self.skipDoctype() { return nil }
            guard self.position < self.buffer.count else { return nil }
            if self.buffer[self.position] == UInt8(ascii: "<") {
                guard let step = try self.markup() else { return nil }
                if let event = step.event { return event }
            } else {
                guard let event = try self.text() else { return nil }
                if !self.open.isEmpty { return event }
            }
        }
    }

    /// Skips the rest of the XML comment, instruction or long CDATA section in which the parser is. Returns `true` when
    /// the parser is behind its end, and `false` when that end was not received yet.
    private mutating func skip() -> Bool {
        guard let end = self.skippingTo else { return true }
        guard let found = self.find(end, from: self.position) else {
            // The last bytes may be the begin of the end marker.
            self.advance(to: max(self.position, self.buffer.count - end.count + 1))
            return false
        }
        self.advance(to: found + end.count)
        self.skippingTo = nil
        return true
    }

    /// Skips the document type declaration. Returns `false` when its end was not received yet.
    private mutating func skipDoctype() -> Bool {
        let end = self.buffer[self.position...].firstIndex { self.doctype?.ends(with: $0) ?? true }
        self.advance(to: end.map { $0 + 1 } ?? self.buffer.count)
        if end != nil { self.doctype = nil }
        return end != nil
    }

    /// Parses the markup that begins with the next `<`. Returns its event, if it has one (a comment has none); returns
    /// `nil` when more bytes are needed.
    private mutating func markup() throws(Malformed) -> (event: Event?, Void)? {
        if let step = self.characterData() { return step.event.map { ($0, ()) } }
        if let isLong = self.startsSkipped() {
            if !isLong { return nil }
            return (nil, ())
        }
        guard let end = try self.endOfTag() else { return nil }
        let tag = self.buffer[(self.position + 1)..<end]
        let event =
            tag.first == UInt8(ascii: "/") ? try self.close(tag.dropFirst()) : try self.open(tag)
        self.advance(to: end + 1)
        return (event, ())
    }

    /// Parses a CDATA section inside an element, and returns it as text. The returned event is `nil` when the section's
    /// end was not received yet. The result is `nil` when the next markup is no CDATA section, or one above the limit.
    private mutating func characterData() -> (event: Event?, Void)? {
        let start = Array("<![CDATA[".utf8)
        guard !self.open.isEmpty, self.buffer[self.position...].starts(with: start) else { return nil }
        let first = self.position + start.count
        guard let end = self.find(Array("]]>".utf8), from: first) else {
            return self.buffer.count - first <= Self.limit ? (nil, ()) : nil
        }
        guard end - first <= Self.limit else { return nil }
        let text = String(decoding: self.buffer[first..<end], as: UTF8.self)
        self.advance(to: end + 3)
        return (.text(text), ())
    }

    /// Begins to skip the next markup of the XML document if it is a comment, an instruction, a document type
    /// declaration, or a CDATA section that is too long or outside of the root element.
    ///
    /// - Returns: `true` when skipping began; `nil` when the markup is an ordinary tag; `false` when more bytes are
    ///   needed to decide.
    private mutating func startsSkipped() -> Bool? {
        let starts: [(start: String, end: String)] = [
            ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!DOCTYPE", ""),
        ]
        let rest = self.buffer[self.position...]
        if let second = rest.dropFirst().first, second != UInt8(ascii: "!"), second != UInt8(ascii: "?") { return nil }
        for (start, end) in starts {
            if rest.starts(with: start.utf8) {
                self.advance(to: self.position + start.utf8.count)
                if end.isEmpty { self.doctype = XMLDoctype() } else { self.skippingTo = Array(end.utf8) }
                return true
            }
            if start.utf8.starts(with: rest) { return false }
        }
        return nil
    }

    /// Returns the index of the `>` that ends the current tag; a `>` inside quotes does not count. Returns `nil` when
    /// more bytes are needed.
    ///
    /// - Throws: `Malformed` when the tag is too long.
    private func endOfTag() throws(Malformed) -> Int? {
        var quote: UInt8?
        for index in (self.position + 1)..<max(self.position + 1, self.buffer.count) {
            let byte = self.buffer[index]
            switch (byte, quote) {
            case (UInt8(ascii: ">"), nil): return index
            case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil): quote = byte
            case (_, .some(let open)) where open == byte: quote = nil
            default: break
            }
            if index - self.position > Self.limit { throw self.malformed("a tag is longer than \(Self.limit) bytes") }
        }
        return nil
    }

    private mutating func open(_ tag: ArraySlice<UInt8>) throws(Malformed) -> Event {
        let isEmpty = tag.last == UInt8(ascii: "/")
        var reader = XMLTagReader(isEmpty ? tag.dropLast() : tag)
        guard let name = reader.name(), let attributes = reader.attributes() else {
            throw self.malformed("a tag is not well-formed")
        }
        guard self.hasRoot == false || !self.open.isEmpty else {
            throw self.malformed("there is a second root element")
        }
        self.hasRoot = true
        if isEmpty {
            self.pendingEnd = name
        } else {
            guard self.open.count < Self.maximumDepth else { throw self.malformed("elements are nested too deeply") }
            self.open.append(name)
        }
        return .start(name, attributes: attributes)
    }

    private mutating func close(_ tag: ArraySlice<UInt8>) throws(Malformed) -> Event {
        var reader = XMLTagReader(tag)
        guard let name = reader.name(), name == self.open.popLast() else {
            throw self.malformed("an end tag does not match its start tag")
        }
        return .end(name)
    }

    /// Returns the text up to the next markup, once all of it was received. So a reference such as `&amp;` is never
    /// divided. Only a text above the limit is returned in pieces.
    private mutating func text() throws(Malformed) -> Event? {
        let next = self.buffer[self.position...].firstIndex(of: UInt8(ascii: "<"))
        if next == nil, !self.open.isEmpty, self.buffer.count - self.position <= Self.limit { return nil }
        let text = self.buffer[self.position..<(next ?? self.buffer.count)]
        if self.open.isEmpty,
            let wrong = text.firstIndex(where: { !XMLTagReader.isSpace($0) && !Self.byteOrderMark.contains($0) })
        {
            self.advance(to: wrong)
            throw self.malformed(
                self.buffer[wrong] == 0 || self.buffer[wrong] > 0xF0
                    ? "the encoding is not UTF-8" : "there is text outside of the root element")
        }
        self.advance(to: text.endIndex)
        return .text(XMLTagReader.unescaped(text))
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private func find(_ pattern: [UInt8], from start: Int) -> Int? {
        guard self.buffer.count - start >= pattern.count else { return nil }
        return (start...(self.buffer.count - pattern.count)).first { self.buffer[$0...].starts(with: pattern) }
    }

    private mutating func advance(to index: Int) {
        for byte in self.buffer[self.position..<index] where byte == UInt8(ascii: "\n") { self.line += 1 }
        self.position = index
    }

    private func malformed(_ reason: String) -> Malformed { Malformed(line: self.line, reason: reason) }
}
