// The code of documents: it is found in pages and in doc comments, and becomes sources that a compiler
// reads. Pure: the texts are parameters.

/// A fenced block of a document.
struct CodeBlock: Equatable {
  /// The word after the fence, such as `swift`; empty if there is none.
  let language: String
  /// The file, as errors name it.
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
    // A line that is not a doc comment ends a block, and is not part of it.
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

/// A Swift file with the blocks of several documents, each document in a function of its own.
struct SnippetFile {
  private(set) var text: String
  private var count = 0
  private let parameters: String

  /// - Parameters:
  ///   - preamble: Imports, and what the documents presuppose: the classes of their examples.
  ///   - parameters: The values that the documents presuppose, as parameters of a function.
  init(preamble: String, parameters: String) {
    text = preamble + "\n"
    self.parameters = parameters
  }

  /// Adds the blocks of one document. Each block sees the declarations of those before it, and may repeat
  /// them.
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
    // A function cannot be the start of a program, and has neither tests, imports nor public declarations.
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
    // The code keeps its own lines, so that errors name the right ones.
    let code = lines.joined(separator: "\n")
    return isMember ? "final class Holder: ManagedObject { \(code)\n}" : code
  }
}
