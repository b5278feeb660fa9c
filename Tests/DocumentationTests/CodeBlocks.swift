// The code of our documents: found in pages and in doc comments, and made into sources that a compiler reads. Pure: texts
// are handed in.

/// A fenced block of a document.
struct CodeBlock: Equatable {
  /// What stands behind the fence, such as `swift`; empty for none.
  let language: String
  /// The file, as errors shall name it.
  let file: String
  /// The line of the first line of code, counted from 1.
  let line: Int
  let lines: [String]

  var code: String { lines.joined(separator: "\n") }

  /// The blocks of a page in Markdown.
  static func blocks(ofPage text: String, file: String) -> [CodeBlock] {
    blocks(text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }, file)
  }

  /// The blocks in the doc comments of a Swift file.
  static func blocks(ofSource text: String, file: String) -> [CodeBlock] {
    // Lines that are no doc comment end a block, and are none of it.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String? in
      let trimmed = line.drop { $0 == " " }
      guard trimmed.hasPrefix("///") else { return nil }
      let content = trimmed.dropFirst(3)
      return String(content.hasPrefix(" ") ? content.dropFirst() : content)
    }
    return blocks(lines, file)
  }

  private static func blocks(_ lines: [String?], _ file: String) -> [CodeBlock] {
    var found: [CodeBlock] = []
    var open: (language: String, start: Int)?
    for (index, line) in lines.enumerated() {
      guard let line else {
        open = nil
        continue
      }
      guard line.hasPrefix("```") else { continue }
      if let (language, start) = open {
        found.append(
          CodeBlock(
            language: language, file: file, line: start + 1, lines: lines[start..<index].compactMap { $0 }))
        open = nil
      } else {
        open = (String(line.dropFirst(3)), index + 1)
      }
    }
    return found
  }
}

/// A Swift file that holds the blocks of several documents, each document in a function of its own.
struct SnippetFile {
  private(set) var text: String
  private var count = 0
  private let parameters: String

  /// - Parameters:
  ///   - preamble: Imports, and what the documents take for granted: the classes of their examples.
  ///   - parameters: The values that they take for granted, as a function's parameters.
  init(preamble: String, parameters: String) {
    text = preamble + "\n"
    self.parameters = parameters
  }

  /// Adds the blocks of one document. Each sees what those before it declare, and may declare it anew.
  mutating func add(_ blocks: [CodeBlock]) {
    guard !blocks.isEmpty else { return }
    count += 1
    text += "\nfunc document\(count)(\(parameters)) async throws {\n"
    for block in blocks {
      text += "do {\n#sourceLocation(file: \"\(block.file)\", line: \(block.line))\n"
      text += Self.body(block) + "\n#sourceLocation()\n"
    }
    text += String(repeating: "}\n", count: blocks.count + 1)
  }

  private static func body(_ block: CodeBlock) -> String {
    // A function can be no program's beginning, and has neither tests, imports nor anything public.
    let lines = block.lines.map { line in
      if line.hasPrefix("import ") { return "" }
      for word in ["@main ", "@Test "] where line.hasPrefix(word) {
        return String(line.dropFirst(word.count))
      }
      return line.replacing(#/^( *(?:@\w+(?:\(.*\))? )?)public /#) { $0.1 }
    }
    let isMember = lines.contains { line in
      ["@ToOne", "@ToMany", "@Attribute"].contains { line.hasPrefix($0) }
    }
    // On the lines of the code itself, so that errors name the right ones.
    let code = lines.joined(separator: "\n")
    return isMember ? "final class Holder: ManagedObject { \(code)\n}" : code
  }
}
