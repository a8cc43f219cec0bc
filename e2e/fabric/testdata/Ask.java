import java.net.HttpURLConnection;
import java.net.URI;

// Asks for ever, and writes the status of each answer.
class Ask {
    public static void main(String[] args) throws InterruptedException {
        for (; ; Thread.sleep(200)) {
            try {
                var connection = (HttpURLConnection) URI.create(args[0]).toURL().openConnection();
                System.out.println(connection.getResponseCode());
                connection.disconnect();
            } catch (Exception e) {
                System.out.println(e);
            }
        }
    }
}
