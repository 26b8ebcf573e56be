// Prints what Lucene makes of each line of its input: the words of StandardTokenizer with
// LowerCaseFilter, then the terms of EnglishAnalyzer. Lines are JSON strings without quotes, in
// ASCII; words are parted by blanks, words and terms by a tab. Used by remake_lucene_terms.py.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.StringJoiner;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.util.Version;

public class LuceneTerms {
  static final Analyzer WORDS = new Analyzer() {
    @Override
    protected TokenStreamComponents createComponents(String field) {
      Tokenizer words = new StandardTokenizer();
      return new TokenStreamComponents(words, new LowerCaseFilter(words));
    }
  };

  public static void main(String[] arguments) throws Exception {
    System.out.println(Version.LATEST);
    Analyzer english = new EnglishAnalyzer();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String text = read(line);
      System.out.println(analyse(WORDS, text) + "\t" + analyse(english, text));
    }
  }

  static String analyse(Analyzer analyzer, String text) throws Exception {
    StringJoiner found = new StringJoiner(" ");
    try (TokenStream stream = analyzer.tokenStream("text", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) {
        found.add(write(term.toString()));
      }
      stream.end();
    }
    return found.toString();
  }

  static String read(String line) {
    StringBuilder text = new StringBuilder();
    for (int at = 0; at < line.length(); at++) {
      char c = line.charAt(at);
      if (c != '\\') {
        text.append(c);
      } else if (line.charAt(at + 1) == 'u') {
        text.append((char) Integer.parseInt(line.substring(at + 2, at + 6), 16));
        at += 5;
      } else {
        char escaped = line.charAt(++at);
        text.append(escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped);
      }
    }
    return text.toString();
  }

  static String write(String term) {
    StringBuilder line = new StringBuilder();
    for (char c : term.toCharArray()) {
      line.append(c < 128 ? String.valueOf(c) : String.format("\\u%04x", (int) c));
    }
    return line.toString();
  }
}
