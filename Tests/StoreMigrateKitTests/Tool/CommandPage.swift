// The reference of the commands on a page, generated from their helps. Pure: the texts are parameters.

import Foundation

/// Converts helps to sections of a page.
enum CommandPage {
  /// The page is generated from the helps after this line.
  static let heading = "## Each command"

  /// The options of many commands: their heading in a help, their heading on the page, and the words that
  /// refer to them.
  private static let shared = [
    ("KEY", "Where a key comes from", "of a key"),
    ("NEW KEY", "Where a new key comes from", "of a new key"),
    ("CIPHER", "Cipher settings", "of cipher settings"),
    ("GLOBAL OPTIONS", "Options of every command", ""),
  ]

  /// Everything after ``heading``.
  /// - Parameters:
  ///   - helps: The commands in their order, with their helps.
  ///   - overview: The help of the tool.
  ///   - codes: The exit codes, with their meanings.
  static func text(
    _ helps: [(name: String, help: String)], overview: String, codes: [(Int32, String)]
  ) -> String {
    let meanings = codes.map { "| \($0) | \(marked($1)) |" }.joined(separator: "\n")
    let commands = helps.map { name, help in section(name, help: help) }
    let tables = shared.map { mark, title, _ in
      "### \(title)\n\n" + table(options(Help(overview).lines(under: mark)))
    }
    let endings = "## Exit codes\n\n| exit code | meaning |\n| --- | --- |\n\(meanings)"
    return (commands + tables + [endings]).joined(separator: "\n\n") + "\n"
  }

  private static func section(_ name: String, help text: String) -> String {
    let help = Help(text)
    var parts = ["### \(name)", "`\(help.usage)`: \(marked(help.summary))."]
    for block in help.blocks { parts.append(block.first == "EXAMPLES" ? examples(block) : prose(block)) }
    let own = options(help.lines(under: "OPTIONS"))
    if !own.isEmpty { parts.append(table(own)) }
    let others = shared.dropLast().compactMap { mark, _, place -> String? in
      let names = options(help.lines(under: mark)).map { option in
        // Without its value, which the shared table has.
        let words = option.form.split(separator: " ")
        return "`\(words.first { $0.hasPrefix("--") } ?? "")`"
      }
      return names.isEmpty ? nil : "\(place): \(names.joined(separator: ", "))"
    }
    if !others.isEmpty { parts.append("Options \(others.joined(separator: "; ")).") }
    return parts.joined(separator: "\n\n")
  }

  // MARK: Blocks

  /// A block between empty lines, before the options.
  private static func prose(_ block: [String]) -> String {
    var (lines, title) = (block, "")
    if let first = block.first, first == first.uppercased(), block.count > 1 {
      title = first.prefix(1) + first.dropFirst().lowercased()
      lines.removeFirst()
    }
    var paragraphs: [String] = []
    for line in lines {
      if let match = line.wholeMatch(of: #/  (\S+) {2,}(\S.*)/#) {
        paragraphs.append("- `\(match.1)`: \(marked(String(match.2)))")
      } else if let last = paragraphs.last, !last.hasPrefix("- ") || line.hasPrefix("    ") {
        paragraphs[paragraphs.count - 1] = "\(last)\n\(last.hasPrefix("- ") ? "  " : "")\(marked(line))"
      } else {
        paragraphs.append(marked(line))
      }
    }
    let isList = paragraphs.allSatisfy { $0.hasPrefix("- ") }
    let body = paragraphs.enumerated().map { index, paragraph in
      let isNext = index > 0 && paragraph.hasPrefix("- ") && paragraphs[index - 1].hasPrefix("- ")
      return (index == 0 ? "" : isNext ? "\n" : "\n\n") + paragraph
    }.joined()
    return (title.isEmpty ? "" : "**\(title).**\(isList || body.hasPrefix("- ") ? "\n\n" : " ")") + body
  }

  private static func examples(_ block: [String]) -> String {
    var lines: [String] = []
    for example in block.dropFirst() {
      guard let match = example.wholeMatch(of: #/ *(\S+) +(\S.*?)(?: {2,}(\S.*))?/#) else { continue }
      if let comment = match.3 { lines.append("# \(comment)") }
      lines += folded("\(match.1) \(match.2)")
    }
    return (["```sh"] + lines + ["```"]).joined(separator: "\n")
  }

  /// A command in lines that a page shows without scrolling. An option and its value stay together.
  private static func folded(_ command: String) -> [String] {
    guard command.count > 78 else { return [command] }
    var (words, quote): ([String], Character?) = ([""], nil)
    for character in command {
      if character == " ", quote == nil {
        words.append("")
        continue
      }
      if character == quote {
        quote = nil
      } else if quote == nil, "'\"".contains(character) {
        quote = character
      }
      words[words.count - 1].append(character)
    }
    var units: [String] = []
    for word in words {
      if !word.hasPrefix("-"), let last = units.last, last.hasPrefix("-") {
        units[units.count - 1] = "\(last) \(word)"
      } else {
        units.append(word)
      }
    }
    var lines: [String] = []
    for unit in units {
      if let last = lines.last, last.count + 1 + unit.count <= 76 {
        lines[lines.count - 1] = "\(last) \(unit)"
      } else if let last = lines.last {
        lines[lines.count - 1] = "\(last) \\"
        lines.append("  \(unit)")
      } else {
        lines.append(unit)
      }
    }
    return lines
  }

  /// Options and short quoted texts as code: a page would turn two hyphens into a dash, and change quotation
  /// marks.
  private static func marked(_ text: String) -> String {
    let line = text.drop { $0 == " " }
    return line.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
      index % 2 == 1
        ? "`\(part)`"
        : part.replacing(#/(^|[ (])(--[a-z][a-z-]*|'[^' ]+')/#) { "\($0.1)`\($0.2)`" }
    }.joined()
  }

  // MARK: Options

  struct Option {
    var form: String
    var meaning: String
  }

  private static func options(_ lines: [String]) -> [Option] {
    var options: [Option] = []
    for line in lines {
      if let match = line.wholeMatch(of: #/ +(-.*?) {2,}(\S.*)/#),
        line.hasPrefix("  -") || line.hasPrefix("      -")
      {
        options.append(Option(form: String(match.1), meaning: String(match.2)))
      } else if !options.isEmpty {
        options[options.count - 1].meaning += " " + line.drop { $0 == " " }
      }
    }
    return options
  }

  private static func table(_ options: [Option]) -> String {
    (["| option | meaning |", "| --- | --- |"]
      + options.map { "| `\($0.form)` | \(marked($0.meaning).replacing("|", with: "\\|")) |" })
      .joined(separator: "\n")
  }
}

/// The parts of a help.
private struct Help {
  /// Such as `store-migrate up STORE`.
  let usage: String
  /// The purpose of the command, in a few words.
  let summary: String
  /// The blocks between the first line and the options.
  let blocks: [[String]]
  private let sections: [[String]]

  init(_ text: String) {
    let blocks = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      .split(separator: "").map(Array.init)
    let first = (blocks.first?.first ?? "").split(separator: ": ", maxSplits: 1).map(String.init)
    (usage, summary) = (first.first ?? "", first.dropFirst().first ?? "")
    let isSection = { (block: [String]) in
      let first = block.first ?? ""
      return ["OPTIONS", "KEY", "NEW KEY", "CIPHER", "GLOBAL OPTIONS"].contains { mark in
        first == mark || first.hasPrefix("\(mark) (")
      }
    }
    self.blocks = blocks.dropFirst().prefix { !isSection($0) }
    sections = blocks.filter(isSection)
  }

  /// The lines of a section, which is found by the beginning of its heading.
  func lines(under mark: String) -> [String] {
    sections.first { $0.first == mark || $0.first?.hasPrefix("\(mark) (") == true }.map {
      Array($0.dropFirst())
    }
      ?? []
  }
}
