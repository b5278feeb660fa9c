// The formats of rows, each compared with a reader that is not part of this package.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RowFormats {
  let bench: FetchBench

  init() throws { bench = try FetchBench() }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `CSV equals the output of the sqlcipher shell`() async throws {
    try await bench.makeBlog()
    let shell = try #require(cipherShell)
    let profile = try Connection.open(bench.url.path, key: FetchBench.key).unlocked.profile
    let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
    let plain = try runTool(
      shell, [bench.url.path],
      input:
        "PRAGMA key = \"x'\(Template.hex(Template.key))'\";\n\(pragmas)\n.mode csv\nSELECT id, name, city FROM \"User\" ORDER BY name;\n"
    )
    let found = try bench.run(
      "fetch", "User", "--columns", "id,name,city", "--sort", "name", "--format", "csv")
    let lines = plain.output.replacing("\r\n", with: "\n").split(separator: "\n").filter { $0 != "ok" }
    // The shell quotes more texts than it has to.
    let rows = lines.map { $0.replacing("\"City 1, \"\"old\"\"\"", with: "C1").replacing("\"", with: "") }
    let ours = found.output.split(separator: "\r\n").dropFirst()
      .map { $0.replacing("\"City 1, \"\"old\"\"\"", with: "C1").replacing("\"", with: "") }
    #expect(rows == ours && ours.count == 4, "\(lines)\n\(ours)")
  }

  /// Characters that move the cursor or change the direction of a line, and similar ones that do neither.
  static let hidden: [UInt32] = [
    0x01, 0x1B, 0x7F, 0x85, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069,
  ]
  static let shown: [UInt32] = [0x7E, 0xA0, 0x061B, 0x061D, 0x200D, 0x2010, 0x2027, 0x202F, 0x2065, 0x206A]

  @Test func `invisible control characters are escaped in a table, and others are unchanged`() async throws {
    try await bench.makeThings { context in
      for value in Self.hidden + Self.shown {
        try context.insert(entity: "Thing") { thing in
          thing["number"] = Int(value)
          thing["text"] = "<\(Unicode.Scalar(value).map(String.init) ?? "")>"
        }
      }
    }
    let lines = try bench.run("fetch", "Thing", "--columns", "number,text").output.split(separator: "\n")
    #expect(lines.count == 2 + Self.hidden.count + Self.shown.count)
    for (value, line) in zip(Self.hidden + Self.shown, lines.dropFirst(2)) {
      let sign = Unicode.Scalar(value).map(String.init) ?? ""
      let escaped = "\\u{\(String(value, radix: 16, uppercase: true))}"
      // By scalars, as some of them form one character with the one before.
      let cell = line.unicodeScalars.drop { $0 != "<" }
      #expect(
        cell.elementsEqual("<\(Self.hidden.contains(value) ? escaped : sign)>".unicodeScalars), "\(value)")
    }
  }

  @Test func `every type has its format in JSON, lines, CSV and tables`() async throws {
    try await bench.makeThings { context in
      let first = try context.insert(entity: "Thing") {
        $0["text"] = "a,\"b\"\n\u{1B}[31m\u{202E}\0"
        $0["flag"] = true
        $0["number"] = Int.max
        $0["real"] = 0.1
        $0["float"] = Float(0.1)
        $0["price"] = Decimal(string: "1234567890.10") ?? 0
        $0["at"] = Date(timeIntervalSince1970: 1_700_000_000.5)
        $0["data"] = Data([0, 255])
        $0["json"] = "{\"a\":[1,null]}"
      }
      try context.insert(entity: "Thing") {
        $0["text"] = ""
        $0[toOne: "parent"] = first
        $0["real"] = Double.infinity
      }
    }
    let rows = try bench.objects(try bench.run("fetch", "Thing", "--sort", "id", "--format", "json").output)
    let row = try #require(rows.first)
    #expect(row["text"] as? String == "a,\"b\"\n\u{1B}[31m\u{202E}\0" && row["flag"] as? Bool == true)
    #expect(row["number"] as? Int == Int.max && row["real"] as? Double == 0.1)
    #expect(row["price"] as? String == "1234567890.1" && row["at"] as? String == "2023-11-14T22:13:20.500Z")
    #expect(row["data"] as? String == "AP8=" && row["parent"] is NSNull)
    #expect((row["json"] as? [String: [Any]])?["a"]?.count == 2)
    #expect(
      rows[1]["text"] as? String == "" && rows[1]["parent"] as? Int == 1
        && rows[1]["real"] as? String == "inf")
    let lines = try bench.run("fetch", "Thing", "--sort", "id", "--format", "lines").output.split(
      separator: "\n")
    #expect(lines.count == 2 && lines[0].contains("\"float\":0.1,"))
    #expect(try lines.flatMap { try bench.objects("[\($0)]") }.count == 2)
    let csv = try bench.run("fetch", "Thing", "--columns", "id,text,flag,data,parent,at", "--format", "csv")
      .output
    #expect(
      csv
        == "id,text,flag,data,parent,at\r\n1,\"a,\"\"b\"\"\n\u{1B}[31m\u{202E}\0\",true,AP8=,,2023-11-14T22:13:20.500Z\r\n"
        + "2,\"\",,,1,\r\n")
    let table = try bench.run("fetch", "Thing", "--columns", "text,data,number").output
    #expect(table.contains("a,\"b\"\\n\\u{1B}[31m\\u{202E}\\u{0}  00ff"), "\(table)")
    #expect(!table.contains("\u{1B}"))
    let envelope = try bench.run("fetch", "Thing", "--json", "--columns", "id").output
    let whole = try #require(try JSONSerialization.jsonObject(with: Data(envelope.utf8)) as? [String: Any])
    #expect(
      (whole["rows"] as? [Any])?.count == 2 && whole["ok"] as? Bool == true
        && whole["command"] as? String == "fetch")
    #expect(whole["columns"] as? [String] == ["id"] && whole["exit"] as? Int == 0 && whole["error"] is NSNull)
  }

  @Test func `a table is aligned by the cells of a terminal`() async throws {
    try await bench.makeThings { context in
      for text in ["abc", "北京", "한국어 ok", "e\u{301}", "👩‍👩‍👧", "ｱﾊﾟ"] {
        try context.insert(entity: "Thing") {
          $0["text"] = text
          $0["number"] = 7
        }
      }
    }
    let output = try bench.run("fetch", "Thing", "--columns", "text,number").output
    #expect(
      output == """
        text       number
        ---------  ------
        abc             7
        北京            7
        한국어 ok       7
        e\u{301}               7
        👩‍👩‍👧              7
        ｱﾊﾟ             7

        """, "\(output)")
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "there is no script"))
  func `lines are cut to the width of a terminal`() async throws {
    try await bench.makeThings { context in
      try context.insert(entity: "Thing") {
        $0["text"] = String(repeating: "北京", count: 30)
        $0["number"] = 7
      }
    }
    let words = "fetch \"$STORE\" Thing --no-input --columns text,number"
    let output = try bench.shell("script -qec 'stty cols 40; \"$TOOL\" \(words)' /dev/null").output
    let lines = output.split { $0.isNewline }
    #expect(lines.last.map(String.init) == String(repeating: "北京", count: 7) + "北…        7", "\(output)")
  }

  // MARK: JSON within JSON

  static let jsonTexts: [(text: String, line: String)] = [
    ("{\r\n  \"a\" : [ 1 ,\r\n\t2.50e+1 ]\r\n}\n", #"{"a":[1,2.50e+1]}"#),
    ("\u{FEFF}{\"a\":1}", #"{"a":1}"#), ("\u{FEFF}\r\n[]\r", "[]"), (" \n\"é\\r\\n\" ", #""é\r\n""#),
    ("12345678901234567890123", "12345678901234567890123"), ("-0", "-0"), ("null", "null"),
    ("[[],{}]", "[[],{}]"),
    // Text that is not JSON is a string.
    ("{\"a\":1} x", #""{\"a\":1} x""#), ("{'a':1}", #""{'a':1}""#), ("[1,]", #""[1,]""#), ("01", #""01""#),
    ("\"a\r\nb\"", #""\"a\r\nb\"""#), ("1\0", #""1\u0000""#), ("", #""""#), ("NaN", #""NaN""#),
    ("{\"a\" 1}", #""{\"a\" 1}""#), ("\"\\x\"", #""\"\\x\"""#), ("[", #""[""#), ("1.", #""1.""#),
    (String(repeating: "[", count: 9000), "\"\(String(repeating: "[", count: 9000))\""),
  ]

  @Test func `a JSON attribute is JSON on one line, whatever line ends and marks it has`() async throws {
    let texts = Self.jsonTexts
    try await bench.makeThings { _ in }
    do {
      // By SQL, as a context refuses text that is not JSON.
      let connection = try Connection.open(bench.url.path, key: FetchBench.key)
      defer { connection.close() }
      for each in texts { try connection.execute("INSERT INTO Thing(json) VALUES (\(each.text))") }
    }
    let words = ["fetch", "Thing", "--columns", "json", "--format"]
    let output = try bench.run(words + ["lines"]).output
    #expect(!output.contains("\r") && !output.unicodeScalars.contains("\u{FEFF}"))
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == texts.count + 1 && lines.last == "")
    for (line, each) in zip(lines, texts) {
      #expect(line == "{\"json\":\(each.line)}", "\(each.text)")
      // Foundation keeps no number of that many digits.
      if each.line.count != 23 { #expect(try bench.objects("[\(line)]").count == 1, "\(line)") }
    }
    let array = try bench.run(words + ["json"]).output
    #expect(array == "[\n\(lines.dropLast().joined(separator: ",\n"))\n]\n")
  }

  // MARK: Nil in CSV

  @Test func `no row of a CSV with one column is an empty line`() async throws {
    try await bench.makeThings { context in
      for text in [nil, "", "x", "\\N", "\"\""] as [String?] {
        try context.insert(entity: "Thing") { $0["text"] = text }
      }
    }
    let words = ["fetch", "Thing", "--format", "csv", "--columns"]
    #expect(try bench.run(words + ["text"]).output == "text\r\n\"\"\r\n\"\"\r\nx\r\n\\N\r\n\"\"\"\"\"\"\r\n")
    #expect(try bench.run(words + ["text,id"]).output.hasPrefix("text,id\r\n,1\r\n\"\",2\r\nx,3\r\n"))
    // The mark for nil is distinguished from an equal text.
    let marked = try bench.run(words + ["text", "--nil", "\\N"]).output
    #expect(marked == "text\r\n\\N\r\n\"\"\r\nx\r\n\"\\N\"\r\n\"\"\"\"\"\"\r\n")
    let mistakes = [["fetch", "Thing", "--nil", "x"], words + ["text", "--nil", "a,b"]]
    for line in mistakes { #expect(try bench.run(line).status == 64) }
  }

  @Test(.enabled(if: KeyInput.python != nil, "needs python3, for its reader of CSV"))
  func `another CSV reader finds every row`() async throws {
    let texts = [nil, "", "a\r\nb", "\"", "a,b", "é"] as [String?]
    try await bench.makeThings { context in
      for text in texts { try context.insert(entity: "Thing") { $0["text"] = text } }
    }
    for columns in ["text", "text,number", "number"] {
      let found = try bench.shell(
        "\"$TOOL\" fetch \"$STORE\" Thing --no-input --format csv --columns \(columns) | python3 -c '"
          + "import csv, json, sys; sys.stdin.reconfigure(newline=\"\"); print(json.dumps([r[0] for r in csv.reader(sys.stdin)]))'"
      )
      let rows = try #require(try JSONSerialization.jsonObject(with: Data(found.output.utf8)) as? [String])
      let expected = columns == "number" ? texts.map { _ in "" } : texts.map { $0 ?? "" }
      #expect(Array(rows.dropFirst()) == expected, "\(found)")
    }
  }
}
